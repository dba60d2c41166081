"""Storm 1.x: every executor has a send thread, every worker a transfer thread.

Cooper 2020, section 4.1.2 (tuple flow plan).
"""

from __future__ import annotations

from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport.contract import Transport

HOPS: Hops = {
    ConnectionType.LOCAL: (Element.SEND, Element.QUEUE),
    ConnectionType.INTER_LOCAL: (
        Element.SEND,
        Element.TRANSFER,
        Element.RECEIVE,
        Element.QUEUE,
    ),
    ConnectionType.REMOTE: (
        Element.SEND,
        Element.TRANSFER,
        Element.NETWORK,
        Element.RECEIVE,
        Element.QUEUE,
    ),
}

TRANSPORT = Transport(name="storm-1", hops=HOPS, task_order=TaskOrder.DECLARED)
