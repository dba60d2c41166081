"""Random jobs, plans and profiles for hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_type_hints

from hypothesis import strategies as st

from streamgauge.profile.behaviour import (
    LONGEST_MS,
    SLOWEST_TASK,
    Behaviour,
    Costs,
    InputBehaviour,
    JoinByParity,
    JoinOnKey,
    Service,
    WindowFunction,
)
from streamgauge.profile.distribution import (
    Constant,
    Empirical,
    EmpiricalCount,
    Exponential,
    Fixed,
    Gamma,
    Geometric,
    Lognormal,
    PoissonCount,
    RoundedNormal,
    Uniform,
)
from streamgauge.profile.figures import (
    ExecutorFigures,
    Figure,
    HostFigures,
    InputFigures,
    Juice,
    LinkFigures,
    OutputFigures,
    Period,
    QueueFigures,
    RateSeries,
    Replicas,
    Saturation,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
    WorkerFigures,
)
from streamgauge.profile.job import Assignment, Job, Step
from streamgauge.profile.keys import GivenKeys, LetterKeys, UniformKeys, ZipfKeys
from streamgauge.profile.observed import ObservedPlan, Scaling, TaskSteps
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    All,
    Burst,
    Cluster,
    Configuration,
    Custom,
    Direct,
    Emission,
    Fields,
    Global,
    Grouping,
    Link,
    LocalOrShuffle,
    LogicalPlan,
    Machine,
    Modulated,
    Node,
    Operator,
    OperatorKind,
    PartialKey,
    PhysicalPlan,
    Poisson,
    Recorded,
    Regular,
    Resources,
    Sawtooth,
    Seasonal,
    Shuffle,
    Slot,
    Stream,
    TaskOrder,
    Topology,
    Unlimited,
    Window,
    Workload,
)
from streamgauge.topology.workload import MOST_PER_SECOND

# Texts that some YAML reader, old or new, takes for something else.
NASTY_NAMES = (
    *("no", "NO", "yes", "on", "off", "y", "n", "true", "True", "FALSE", "null", "Null", "~"),
    *("1", "-1", "+1", "007", "0x1", "0o7", "0b1", "1e3", "1E-3", "1.", ".5", "1_000", "1:30"),
    *(".inf", "-.inf", ".nan", "NaN", "Infinity", "2020-01-01", "2001-12-14t21:59:43.10-05:00"),
    *(":", ": x", "a: b", "a:", "#x", "a #b", "- a", "-", "---", "...", "? x", "&a", "*a", "!t"),
    *("%d", "@x", "`x", "{a}", "[a]", "a,b", "'", '"', "\\", "=", "<<", "|", ">", "file", "each"),
    *("größe", "流量", "😀", "é", "e\u0301", "x[1]", "x[1-2]"),
)

NASTY_FLOATS = (0.1 + 0.2, 1e-05, 1 / 3, 5e-324, 1e300, 1e16, 1e22, 123456789.123, 1.0, 2.5e-8)


PLAIN_NAMES = st.sampled_from(("a", "b", "c", "d", "Split", "count_2", "e-f", "g.h"))
NAMES = st.one_of(
    PLAIN_NAMES,
    st.sampled_from(NASTY_NAMES),
    # Letters, marks, numbers, punctuation and symbols; two underscores are the engine's.
    st.text(st.characters(categories=("L", "M", "N", "P", "S")), min_size=1, max_size=12).map(
        lambda text: text.lstrip("_") or "_"
    ),
)
# Free texts: anything UTF-8 can hold.
TEXTS = st.one_of(
    st.sampled_from(NASTY_NAMES),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=30),
    st.just("a line\nand another, with a trailing blank \n\n"),
    st.just("word " * 60),
)
POSITIVE = st.one_of(
    st.sampled_from(NASTY_FLOATS),
    st.floats(min_value=5e-324, max_value=1e300, allow_nan=False),
    st.integers(min_value=1, max_value=1000),
)
NON_NEGATIVE = st.one_of(st.just(0.0), POSITIVE)
SMALL = st.integers(min_value=1, max_value=3)
SETTINGS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)


def windows(times: st.SearchStrategy[float] = POSITIVE) -> st.SearchStrategy[Window]:
    """By count or time, tumbling or sliding, mixed or not."""
    counts = st.integers(min_value=1, max_value=100)
    lengths = st.one_of(
        st.fixed_dictionaries({"length_tuples": counts}),
        st.fixed_dictionaries({"length_seconds": times}),
    )
    slides = st.one_of(
        st.just({}),
        st.fixed_dictionaries({"slide_tuples": counts}),
        st.fixed_dictionaries({"slide_seconds": times}),
    )
    return st.builds(
        lambda length, slide, event_time: Window(**length, **slide, event_time=event_time),
        lengths,
        slides,
        st.booleans(),
    )


@st.composite
def shares(draw: st.DrawFn, size: int) -> tuple[float, ...]:
    """`size` shares, some of them zero, that sum to one."""
    parts = st.integers(min_value=0, max_value=4)
    weights = draw(st.lists(parts, min_size=size, max_size=size))
    if not any(weights):
        weights[-1] = 1
    return tuple(weight / sum(weights) for weight in weights)


@st.composite
def groupings(
    draw: st.DrawFn, source: Operator, target: Operator, *, copies: bool = True
) -> Grouping:
    """Every kind; custom ones with a matrix that fits, zeros included."""
    kinds = ["shuffle", "local", "fields", "partial", "global", "direct", "custom"]
    kind = draw(st.sampled_from([*kinds, "all"] if copies else kinds))
    if kind in ("fields", "partial"):
        keys = draw(st.lists(NAMES, min_size=1, max_size=2).map(tuple))
        return Fields(keys=keys) if kind == "fields" else PartialKey(keys=keys)
    if kind == "custom":
        rows = draw(st.sampled_from((1, source.tasks)))
        return Custom(matrix=tuple(draw(shares(target.tasks)) for _ in range(rows)))
    plain = {
        "shuffle": Shuffle,
        "local": LocalOrShuffle,
        "all": All,
        "global": Global,
        "direct": Direct,
    }
    return plain[kind]()


@st.composite
def topologies(
    draw: st.DrawFn,
    *,
    cyclic: bool = True,
    copies: bool = True,
    names: st.SearchStrategy[str] = NAMES,
    acked: st.SearchStrategy[bool] | None = None,
    most: int = 6,
    seconds: st.SearchStrategy[float] = POSITIVE,
) -> Topology:
    """Up to two sources and four processors, every one behind a source.

    Args:
        draw: Given by hypothesis.
        cyclic: Whether streams may also point backwards.
        copies: Whether the grouping `all` occurs.
        names: Of operators and streams.
        acked: Whether tuple trees are tracked; either when not given.
        most: Operators at most.
        seconds: Lengths and slides of windows by time.
    """
    listed = draw(st.lists(names, min_size=2, max_size=most, unique=True))
    sources = draw(st.integers(min_value=1, max_value=min(2, len(listed) - 1)))
    operators = [
        Operator(
            name=name,
            kind=OperatorKind.SOURCE if index < sources else OperatorKind.PROCESSOR,
            tasks=draw(SMALL),
            window=draw(st.none() | windows(seconds)) if index >= sources else None,
        )
        for index, name in enumerate(listed)
    ]
    ends = [(draw(st.integers(0, index - 1)), index) for index in range(sources, len(operators))]
    for _ in range(draw(st.integers(min_value=0, max_value=4))):
        target = draw(st.integers(min_value=sources, max_value=len(operators) - 1))
        last = len(operators) - 1 if cyclic else target - 1
        ends.append((draw(st.integers(min_value=0, max_value=last)), target))
    streams: dict[tuple[str, str, str], Stream] = {}
    for source, target in ends:
        sender, receiver = operators[source], operators[target]
        grouping = draw(groupings(sender, receiver, copies=copies))
        stream = Stream(
            source=sender.name,
            target=receiver.name,
            name=draw(st.just("default") | names),
            grouping=grouping,
        )
        streams.setdefault(stream.subscription, stream)
    return Topology(
        name=draw(names),
        operators=tuple(operators),
        streams=tuple(streams.values()),
        acked=draw(st.booleans() if acked is None else acked),
    )


@st.composite
def configurations(draw: st.DrawFn, topology: Topology) -> Configuration:
    """No more executors than tasks, needs of some of the operators."""
    executors = {
        operator.name: draw(st.integers(min_value=1, max_value=operator.tasks))
        for operator in topology.operators
        if draw(st.booleans())
    }
    return Configuration(
        engine=draw(st.sampled_from(("storm-1", "storm-2"))),
        executors=executors,
        workers=draw(SMALL),
        ackers=draw(st.none() | st.integers(min_value=0, max_value=3)),
        settings=draw(st.dictionaries(TEXTS, SETTINGS, max_size=3)),
        resources={name: draw(resources()) for name in executors if draw(st.booleans())},
    )


def resources() -> st.SearchStrategy[Resources]:
    """Any needs, or none."""
    whole = st.integers(min_value=0, max_value=2**62)
    return st.builds(Resources, cpu_cores=st.none() | NON_NEGATIVE, memory_bytes=st.none() | whole)


def _link(source, target, one, other):
    return Link(source=source, target=target, latency_ms=max(one, other), jitter_ms=min(one, other))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to three nodes on up to two machines."""
    machines = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    nodes = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    ports = st.lists(st.integers(1, 65_535), min_size=1, max_size=3, unique=True)
    pairs = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    return Cluster(
        machines=tuple(
            Machine(
                name=name,
                cores=draw(POSITIVE),
                memory_bytes=draw(st.none() | st.integers(min_value=1, max_value=2**50)),
                background_cores=draw(st.just(0.0) | st.just(5e-324)),
            )
            for name in machines
        ),
        nodes=tuple(
            Node(
                name=name,
                machine=draw(st.sampled_from(machines)),
                ports=tuple(draw(ports)),
                rack=draw(st.just("default-rack") | NAMES),
            )
            for name in nodes
        ),
        links=tuple(
            _link(a, b, draw(NON_NEGATIVE), draw(NON_NEGATIVE))
            for a, b in draw(st.lists(pairs, max_size=2, unique=True))
        ),
        latency_ms=draw(NON_NEGATIVE),
    )


@st.composite
def plans(
    draw: st.DrawFn, topology: Topology, configuration: Configuration, cluster: Cluster
) -> PhysicalPlan:
    """Every executor in any of the cluster's slots."""
    logical = LogicalPlan.of(
        topology, configuration, task_order=draw(st.sampled_from(list(TaskOrder)))
    )
    slots = draw(st.permutations(cluster.slots))
    placed: dict[Slot, list[str]] = {slot: [] for slot in slots}
    for executor in logical.executors:
        placed[draw(st.sampled_from(slots))].append(executor.label)
    return PhysicalPlan.explicit(logical, cluster, placed)


@st.composite
def placed_topologies(draw: st.DrawFn, **options: Any) -> PhysicalPlan:
    """A topology of plain names, any executors, on two nodes with two slots each."""
    topology = draw(topologies(names=PLAIN_NAMES, **options))
    configuration = draw(configurations(topology))
    return draw(plans(topology, configuration, Cluster.uniform(nodes=2, slots=2)))


def shapes() -> st.SearchStrategy[Any]:
    """Every shape but the unlimited one."""
    entries = st.lists(NON_NEGATIVE, max_size=2).map(lambda values: (*values, 1.0))
    modulated = st.lists(st.tuples(NON_NEGATIVE, POSITIVE), min_size=1, max_size=2)
    return st.one_of(
        st.just(Poisson()),
        st.just(Regular()),
        st.builds(Burst, on_seconds=POSITIVE, off_seconds=POSITIVE, random=st.booleans()),
        modulated.map(
            lambda pairs: Modulated(
                factors=(1.0, *(factor for factor, _ in pairs)),
                mean_seconds=(1.0, *(seconds for _, seconds in pairs)),
            )
        ),
        st.builds(
            Seasonal,
            period_seconds=POSITIVE,
            amplitude=st.floats(min_value=0.0, max_value=1.0),
            phase_seconds=st.floats(min_value=-1e6, max_value=1e6),
        ),
        st.builds(Sawtooth, period_seconds=POSITIVE, reverse=st.booleans()),
        st.builds(Recorded, bucket_seconds=POSITIVE, values=entries),
    )


@st.composite
def workloads(draw: st.DrawFn, topology: Topology) -> Workload:
    """Emissions on some of the sources' streams."""
    keys = sorted({s.key for op in topology.sources for s in topology.streams_from(op.name)})
    chosen = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    emissions = []
    for key in chosen:
        limited = draw(st.booleans())
        tasks = topology.operator(key.source).tasks
        emissions.append(
            Emission(
                source=key.source,
                stream=key.name,
                per_second=min(draw(NON_NEGATIVE), MOST_PER_SECOND) if limited else None,
                shape=draw(shapes()) if limited else Unlimited(),
                shares=draw(st.none() | shares(tasks)),
            )
        )
    return Workload(emissions=tuple(emissions))


def distributions() -> st.SearchStrategy[Any]:
    """Every distribution of a time or size."""
    return st.one_of(
        st.builds(Constant, value=NON_NEGATIVE),
        st.builds(Exponential, mean=POSITIVE),
        st.builds(Gamma, mean=POSITIVE, scv=st.just(1.0) | POSITIVE),
        st.builds(Lognormal, mean=POSITIVE, scv=POSITIVE),
        st.lists(NON_NEGATIVE, min_size=2, max_size=2)
        .map(sorted)
        .map(lambda ends: Uniform(low=ends[0], high=ends[1])),
        st.builds(Empirical, values=st.lists(NON_NEGATIVE, min_size=1, max_size=3).map(tuple)),
        st.lists(st.tuples(NON_NEGATIVE, POSITIVE), min_size=1, max_size=3).map(
            lambda pairs: Empirical(
                values=tuple(value for value, _ in pairs),
                weights=tuple(weight for _, weight in pairs),
            )
        ),
    )


def counts() -> st.SearchStrategy[Any]:
    """Every distribution of a number of outputs."""
    whole = st.integers(min_value=0, max_value=50)
    return st.one_of(
        st.builds(Fixed, mean=st.floats(min_value=0.0, max_value=1e9)),
        st.builds(
            lambda centre, deviation, ends: RoundedNormal(
                centre=centre, deviation=deviation, low=min(ends), high=max(ends)
            ),
            NON_NEGATIVE,
            POSITIVE,
            st.tuples(whole, whole),
        ),
        st.builds(PoissonCount, mean=st.floats(min_value=5e-324, max_value=5e4)),
        st.builds(Geometric, mean=st.floats(min_value=5e-324, max_value=2.5e3)),
        st.lists(st.tuples(whole, POSITIVE), min_size=1, max_size=3).map(
            lambda pairs: EmpiricalCount(
                values=tuple(value for value, _ in pairs),
                weights=tuple(weight for _, weight in pairs),
            )
        ),
        st.builds(EmpiricalCount, values=st.lists(whole, min_size=1, max_size=3).map(tuple)),
    )


def keys() -> st.SearchStrategy[Any]:
    """Every distribution of keys."""
    number = st.integers(min_value=1, max_value=1000)
    weights = st.dictionaries(TEXTS, NON_NEGATIVE, max_size=2)
    return st.one_of(
        st.builds(UniformKeys, count=number, prefix=st.just("key") | TEXTS),
        st.builds(
            ZipfKeys, count=number, prefix=TEXTS, exponent=st.floats(min_value=0.0, max_value=50.0)
        ),
        st.builds(
            LetterKeys,
            count=number,
            length=st.integers(min_value=3, max_value=8),
            deviation=st.none() | st.floats(min_value=0.1, max_value=1e3),
        ),
        weights.map(lambda given: GivenKeys(weights={**given, "often": 1.0})),
    )


def services() -> st.SearchStrategy[Service]:
    """CPU and waiting, as long as a service may take."""
    times = distributions().map(
        lambda time: time if time.mean <= LONGEST_MS else Constant(value=LONGEST_MS)
    )
    return st.builds(Service, cpu_ms=times, wait_ms=times)


@st.composite
def behaviours(draw: st.DrawFn, topology: Topology, operator: Operator) -> Behaviour:
    """Only streams that the operator has, a window function where it has a window."""
    emitted = sorted({stream.name for stream in topology.streams_from(operator.name)})
    received = sorted({stream.key for stream in topology.streams_into(operator.name)})

    def some(parts: st.SearchStrategy[Any], streams: list[Any] = emitted) -> dict[Any, Any]:
        return {one: draw(parts) for one in streams if draw(st.booleans())}

    exclusive = draw(st.booleans())
    rare = st.builds(Fixed, mean=st.floats(min_value=0.0, max_value=1 / 8))

    def outputs() -> dict[str, Any]:
        if operator.kind is OperatorKind.SOURCE:
            return {}
        return some(rare if exclusive else counts())

    window = None
    join: JoinOnKey | JoinByParity | None = None
    if operator.window is not None:
        window = WindowFunction(
            service=draw(services()), per_tuple_ms=draw(NON_NEGATIVE), outputs=outputs()
        )
        if emitted and draw(st.booleans()):
            join = JoinByParity(equal=emitted[0], different=emitted[-1])
    elif draw(st.booleans()):
        join = JoinOnKey(within_seconds=draw(POSITIVE))
    special = st.builds(
        InputBehaviour,
        service=st.none() | services(),
        outputs=st.none() | st.just(outputs()),
    )
    bounded = POSITIVE.map(lambda speed: min(speed, SLOWEST_TASK))
    speeds = st.lists(bounded, min_size=operator.tasks, max_size=operator.tasks).map(tuple)
    return Behaviour(
        service=draw(services()),
        outputs=outputs(),
        exclusive=exclusive,
        inputs=some(special, received),
        keys=some(keys()),
        bytes=some(distributions()),
        join=join,
        window=window,
        relative_service=draw(st.none() | speeds),
        costs=draw(st.builds(Costs, serialise_ms=NON_NEGATIVE, ack_ms=NON_NEGATIVE)),
        origin=draw(TEXTS),
    )


@st.composite
def steps(draw: st.DrawFn, topology: Topology) -> Step:
    """A change that the topology allows."""
    configuration = draw(configurations(topology))
    return Step(
        executors=configuration.executors,
        workers=draw(st.none() | SMALL),
        ackers=draw(st.none() | st.integers(min_value=0, max_value=3)),
        settings=configuration.settings,
        resources=configuration.resources,
    )


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """A whole job with any of its parts."""
    topology = draw(topologies(most=5))
    configuration = draw(configurations(topology))
    cluster = draw(st.none() | clusters())
    plan = None
    if cluster is not None and draw(st.booleans()):
        plan = Assignment.of(draw(plans(topology, configuration, cluster)))
    named = draw(st.lists(NAMES, max_size=2, unique=True))
    tracked = topology.with_ackers(1)
    return Job(
        topology=topology,
        behaviours={
            operator.name: draw(behaviours(topology, operator))
            for operator in tracked.operators
            if draw(st.booleans())
        },
        configuration=configuration,
        cluster=cluster,
        workload=draw(st.none() | workloads(topology)),
        plan=plan,
        steps={name: draw(steps(topology)) for name in named},
        about=draw(TEXTS),
    )


def figures(values: st.SearchStrategy[float] = NON_NEGATIVE) -> st.SearchStrategy[Figure]:
    """A number with or without what it rests on."""
    number = st.integers(min_value=0, max_value=10**9)
    return st.builds(
        Figure,
        value=values,
        samples=number,
        buckets=number,
        standard_error=st.none() | values,
    ) | st.builds(Figure, value=values)


@st.composite
def times(draw: st.DrawFn, values: st.SearchStrategy[float] = NON_NEGATIVE) -> TimeFigures:
    """A measured time; quantiles that do not fall."""
    probabilities = sorted(draw(st.sets(st.floats(min_value=0.0, max_value=1.0), max_size=3)))
    quantiles = sorted(draw(values) for _ in probabilities)
    return TimeFigures(
        mean_ms=draw(figures(values)),
        scv=draw(st.none() | figures(values)),
        quantiles_ms=dict(zip(probabilities, quantiles, strict=True)),
    )


@st.composite
def some_of(draw: st.DrawFn, fields: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    """Values for up to four of the fields."""
    names = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4))
    return {name: draw(fields[name]) for name in names}


@st.composite
def records(
    draw: st.DrawFn,
    record: type,
    values: st.SearchStrategy[float] = NON_NEGATIVE,
    **more: st.SearchStrategy[Any],
) -> Any:
    """A record with some of its figures, times and queues, and of what `more` adds."""
    by_hint = {
        Figure | None: figures(values),
        TimeFigures | None: times(values),
        QueueFigures | None: st.deferred(lambda: records(QueueFigures, values)),
        bool | None: st.booleans(),
    }
    hints = get_type_hints(record)
    plain = {name: by_hint[hint] for name, hint in hints.items() if hint in by_hint}
    return record(**draw(some_of({**plain, **more})))


@st.composite
def measured_shares(draw: st.DrawFn, size: int) -> Shares:
    """Shares with or without what they rest on."""
    number = st.integers(min_value=0, max_value=10**9)
    return Shares(parts=draw(shares(size)), samples=draw(number), buckets=draw(number))


@st.composite
def task_profiles(
    draw: st.DrawFn,
    topology: Topology,
    operator: Operator,
    values: st.SearchStrategy[float] = NON_NEGATIVE,
) -> TaskProfile:
    """Figures of some of the task's streams."""
    received = sorted({stream.key for stream in topology.streams_into(operator.name)})
    dispersions = st.dictionaries(POSITIVE, figures(values), max_size=2)
    inputs = {
        key: draw(records(InputFigures, values, dispersions=dispersions))
        for key in received
        if draw(st.booleans())
    }
    outputs = {}
    for name in sorted({stream.name for stream in topology.streams_from(operator.name)}):
        targets = [s.target for s in topology.streams_from(operator.name) if s.name == name]
        routed = {
            target: measured_shares(topology.operator(target).tasks)
            for target in targets
            if draw(st.booleans())
        }
        given = {key: figures(values) for key in received if draw(st.booleans())}
        outputs[name] = draw(
            records(
                OutputFigures,
                values,
                coefficients=st.fixed_dictionaries(given),
                shares=st.fixed_dictionaries(routed),
            )
        )
    sources = [source.name for source in topology.sources]
    end_to_end = st.dictionaries(st.sampled_from(sources), times(values), max_size=2)
    seen = draw(records(TaskProfile, values, end_to_end=end_to_end))
    return replace(seen, inputs=inputs, outputs=outputs)


def series() -> st.SearchStrategy[RateSeries]:
    """Rates over time, some of them missing."""
    return st.builds(
        RateSeries,
        start=TEXTS,
        step_seconds=POSITIVE,
        per_second=st.lists(st.none() | NON_NEGATIVE, max_size=3).map(tuple),
    )


def observations() -> st.SearchStrategy[Saturation]:
    """An operator in one stretch of time."""
    whole = st.integers(min_value=0, max_value=100)
    rates = [NON_NEGATIVE] * 4
    return st.builds(Saturation, TEXTS, whole, *rates)


@st.composite
def observed_plans(draw: st.DrawFn, topology: Topology) -> ObservedPlan:
    """What tasks of some operators did in some steps."""
    steps = draw(st.integers(min_value=0, max_value=3))
    row = st.lists(NON_NEGATIVE, min_size=steps, max_size=steps).map(tuple)
    tasks = {}
    for operator in topology.operators:
        place = draw(st.integers(min_value=0, max_value=operator.tasks - 1))
        inputs = {one.key: draw(row) for one in topology.streams_into(operator.name)}
        outputs = {one.name: draw(row) for one in topology.streams_from(operator.name)}
        one = TaskSteps(inputs=inputs, outputs=outputs, backpressure=draw(st.just(()) | row))
        tasks[operator.name] = {str(place): one}
    known = st.lists(st.none() | NON_NEGATIVE, min_size=steps, max_size=steps).map(tuple)
    minutes = st.floats(min_value=0.01, max_value=1e3)
    return ObservedPlan(
        plan_id=draw(TEXTS),
        executors={name: draw(st.integers(min_value=1, max_value=9)) for name in tasks},
        minutes=draw(st.lists(minutes, min_size=steps, max_size=steps).map(tuple)),
        tasks=tasks,
        cores={name: draw(known) for name in tasks if draw(st.booleans())},
    )


def scalings() -> st.SearchStrategy[Scaling]:
    """How capacity grows with executors."""
    return st.builds(
        Scaling,
        exponent=st.floats(min_value=-2.0, max_value=2.0),
        standard_error=st.none() | NON_NEGATIVE,
        executors=st.lists(st.integers(min_value=1, max_value=99), max_size=3).map(tuple),
    )


@st.composite
def profiles(
    draw: st.DrawFn,
    *,
    values: st.SearchStrategy[float] = NON_NEGATIVE,
    seconds: st.SearchStrategy[float] = POSITIVE,
) -> Profile:
    """What may be measured of a random job, some of it missing."""
    topology = draw(topologies(most=3, seconds=seconds))
    configuration = draw(configurations(topology))
    plan = LogicalPlan.of(topology, configuration)
    operators = [operator.name for operator in plan.topology.operators]
    tasks = {
        TaskId(operator.name, index): draw(task_profiles(plan.topology, operator, values))
        for operator in plan.topology.operators
        for index in range(operator.tasks)
        if draw(st.booleans())
    }
    streams = sorted({stream.key for stream in topology.streams})
    emitted = [key for key in streams if topology.operator(key.source) in topology.sources]
    labels = [executor.label for executor in plan.executors]
    workers = draw(st.lists(TEXTS, min_size=1, max_size=2))
    placed = {label: draw(st.sampled_from(workers)) for label in labels}
    placement = draw(st.sampled_from(({}, placed)))
    process = st.sampled_from(list(placed.values())) if placement else TEXTS
    rows = st.lists(observations(), max_size=2).map(tuple)
    hosts = st.dictionaries(TEXTS, records(HostFigures), max_size=1)
    link = st.builds(LinkFigures, source=NAMES, target=NAMES, latency=times())
    juice = st.dictionaries(st.sampled_from(operators), NON_NEGATIVE, max_size=2)
    replicas = st.builds(
        Replicas,
        count=st.integers(min_value=0),
        blocks=st.integers(min_value=0),
        block_seconds=POSITIVE,
        seed=st.integers(),
        file=TEXTS,
    )
    optional = {
        "executors": st.dictionaries(st.sampled_from(labels), records(ExecutorFigures), max_size=2),
        "workers": st.dictionaries(process, records(WorkerFigures), max_size=2),
        "nodes": hosts,
        "machines": hosts,
        "links": st.lists(link, max_size=2).map(tuple),
        "sources": st.fixed_dictionaries({key: series() for key in emitted}),
        "juice": st.builds(Juice, topology=figures(), operators=juice),
        "saturation": st.dictionaries(st.sampled_from(operators), rows, max_size=2),
        "observed": st.lists(observed_plans(topology), max_size=2).map(tuple),
        "scaling": st.dictionaries(st.sampled_from(operators), scalings(), max_size=2),
        "backpressure_minutes": NON_NEGATIVE,
        "plan_id": TEXTS,
        "period": st.builds(Period, start=TEXTS, end=TEXTS),
        "replicas": replicas,
        "notes": st.lists(TEXTS, max_size=2).map(tuple),
    }
    return Profile(
        topology=topology,
        configuration=configuration,
        cluster=draw(st.none() | clusters()),
        tasks=tasks,
        keys={key: draw(keys()) for key in streams if draw(st.booleans())},
        placement=placement,
        **draw(some_of(optional)),
    )
