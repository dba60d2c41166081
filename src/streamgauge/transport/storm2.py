"""Storm 2.x: the sender's own thread puts a tuple into the receiver's or transfer queue."""

from __future__ import annotations

from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops

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
