"""Storm 1.x: every executor has a send thread, every worker a transfer thread.

Cooper 2020, section 4.1.2 (tuple flow plan).
"""

from __future__ import annotations

from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops

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
