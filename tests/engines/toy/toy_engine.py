"""An engine from outside: it chains operators, its senders block, its delays are a formula's.

Operators that a stream connects directly run in one thread where both have as many executors. An
executor serves tuples one by one, in the order of their arrival. A queue that is full holds back
whoever sends to it. Nothing is batched and nothing sleeps.
"""

from dataclasses import replace

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.delays import Delays, Part
from streamgauge.models.queueing import Moments
from streamgauge.topology.grouping import LocalOrShuffle
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import Element
from streamgauge.transport.engine import Engine
from streamgauge.transport.mechanics import Mechanics, Transport, configure_mechanics, whole

SETTINGS = {"toy.queue.size": ("receive_limit", whole)}
HOPS = {
    ConnectionType.LOCAL: (Element.QUEUE,),
    ConnectionType.INTER_LOCAL: (Element.QUEUE,),
    ConnectionType.REMOTE: (Element.NETWORK, Element.QUEUE),
}


def mechanics(settings):
    return configure_mechanics(Mechanics(receive_limit=1000), SETTINGS, settings)


TRANSPORT = Transport(
    hops=HOPS, task_order=TaskOrder.DECLARED, mechanics=mechanics, settings=tuple(SETTINGS)
)


def delays(traffic, service):
    """M/G/1 everywhere: the wait by Pollaczek and Khinchine, its spread as of an exponential."""
    flow, arrived = traffic.flow, np.zeros(len(service.mean))
    for name, span in flow.plan.logical.spans.items():
        arrived[span.start : span.stop] = traffic.rates.into(flow, name)
    busy = arrived * service.mean
    square = service.mean**2 + service.variance
    with np.errstate(divide="ignore"):
        wait = np.where(busy < 1.0, arrived * square / (2.0 * (1.0 - busy)), np.inf)
    nothing = np.zeros(len(flow.plan.workers))
    none = Moments(mean=np.zeros_like(wait), variance=np.zeros_like(wait))
    variance = wait**2 + service.variance
    mean = np.where(np.isfinite(wait), wait + service.mean, 1.0)
    spread = np.divide(variance, mean**2, out=np.zeros_like(mean), where=mean > 0.0)
    return Delays(
        executors={Part.QUEUEING: wait, Part.SERVICE: service.mean},
        spread=variance,
        executor_transform=lambda s: transforms.gamma(s, mean, spread),
        send=none,
        send_transform=lambda s: np.ones((len(s), len(wait)), dtype=np.complex128),
        transfer=Moments(mean=nothing, variance=nothing),
        transfer_transform=lambda s: np.ones((len(s), len(nothing)), dtype=np.complex128),
        utilisation=busy,
    )


def chains(topology, configuration):
    """As long as they can be: along streams that stay local, between operators of one size."""
    following = {}
    for stream in topology.data_streams:
        ends = (topology.operator(stream.source), topology.operator(stream.target))
        sent = [one for one in topology.streams_from(stream.source) if not one.is_system]
        if (
            isinstance(stream.grouping, LocalOrShuffle)
            and len(sent) == len(topology.streams_into(stream.target)) == 1
            and all(one.kind is OperatorKind.PROCESSOR and one.window is None for one in ends)
            and ends[0].tasks == ends[1].tasks
            and len({configuration.executors_of(one.name) for one in ends}) == 1
        ):
            following[stream.source] = stream.target
    for head in following:
        if head not in following.values():
            chain = [head]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            yield tuple(chain)


TOY = Engine(
    name="toy",
    transport="toy_engine:TRANSPORT",
    delays="toy_engine:delays",
    chaining="toy_engine:chains",
)
# The same without threads that do several operators' work.
UNCHAINED = replace(TOY, name="toy-unchained", chaining="")
