"""Storm 2.x: the sender's own thread puts a tuple into the receiver's or transfer queue."""

from __future__ import annotations

from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport.contract import Transport

HOPS: Hops = {
    ConnectionType.LOCAL: (Element.QUEUE,),
    ConnectionType.INTER_LOCAL: (Element.TRANSFER, Element.RECEIVE, Element.QUEUE),
    ConnectionType.REMOTE: (
        Element.TRANSFER,
        Element.NETWORK,
        Element.RECEIVE,
        Element.QUEUE,
    ),
}

TRANSPORT = Transport(name="storm-2", hops=HOPS, task_order=TaskOrder.ALPHABETICAL)
