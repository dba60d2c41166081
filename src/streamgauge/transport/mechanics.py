"""How an engine moves tuples, and the figures of it: sizes of queues, batches, waits and limits.

Every figure has the engine's documented default and the name of the setting that changes it; the
rules that go with them are the transport's own (`storm1`, `storm2`) and the simulator's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from streamgauge.errors import Findings
from streamgauge.topology.configuration import Setting
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.tuple_flow import Hops
from streamgauge.transport.costs import NO_COSTS, EngineCosts
from streamgauge.transport.hashing import KeyValue, task_index, two_choices

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanics:
    """How an engine queues, batches, waits and times out; times in seconds.

    Attributes:
        send_threads: Whether every executor has a send queue and a thread that empties it, and
            all queues gather objects in batches (Storm 1.x).
        batch: Objects that fill a batch; one means that there are no batches.
        flush_seconds: How often batches are flushed.
        receive_limit: Capacity of an executor's receive queue.
        send_limit: Capacity of an executor's send queue, where there is one.
        transfer_limit: Capacity of a worker's transfer queue.
        overflow_limit: Tuples from other workers that may wait beyond the receive queue's capacity;
            more are dropped.
        bolt_spin: How long an idle executor polls before it sleeps.
        bolt_sleep: How long it then sleeps at a time; zero means that it notices work at once.
        source_sleep: How long a source sleeps after it found nothing to emit.
        transfer_sleep: How long a transfer thread sleeps when its queue is empty.
        sleep_jitter: Standard deviation of each of these sleeps, which are never equally long.
        poll_cores: Cores that one polling thread of a machine uses.
        poll_growth: n polling threads use poll_cores · n to this power.
        wake_seconds: CPU time of the only thread of a machine that wakes up from such sleeps, each
            time that it finds nothing to do.
        wake_growth: n such threads use n to this power times as much: a core that is awake wakes
            threads at less cost.
        send_seconds: CPU time of a send thread for one tuple.
        transfer_seconds: CPU time of a transfer thread for one tuple.
        load_aware: Whether shuffle looks at loads and nearness.
        widen_load: Mean load of a scope above which shuffle takes in the next wider one.
        narrow_load: Mean load of the next narrower scope below which it goes back.
        refresh_seconds: Shortest time between two looks of a worker at the loads.
        refresh_jitter: Largest random addition to that time.
        gossip_seconds: How often workers exchange their loads.
        pressure_seconds: How often back-pressure between workers is checked.
        watermarks: Fill level of a receive queue that stops all sources, and the level below which
            they continue; None where queues do not stop sources so.
        watermark_bytes: The same as what waits there, in bytes (Heron: 100 and 50 MB); a queue then
            counts as many tuples of the mean size of what comes to it.
        max_pending: Roots that one task of a source may have open.
        time_out_seconds: After this, and before twice this, a root that is still open fails.
        costs: What the engine's own threads and steps cost, before anything was measured.
    """

    send_threads: bool = False
    batch: int = 1
    flush_seconds: float = 0.001
    receive_limit: int = NO_LIMIT
    send_limit: int = NO_LIMIT
    transfer_limit: int = NO_LIMIT
    overflow_limit: int = NO_LIMIT
    bolt_spin: float = 0.0
    bolt_sleep: float = 0.0
    source_sleep: float = 0.0
    transfer_sleep: float = 0.0
    sleep_jitter: float = 0.0
    poll_cores: float = 0.0
    poll_growth: float = 1.0
    wake_seconds: float = 0.0
    wake_growth: float = 1.0
    send_seconds: float = 0.0
    transfer_seconds: float = 0.0
    load_aware: bool = False
    widen_load: float = 0.8
    narrow_load: float = 0.2
    refresh_seconds: float = 1.0
    refresh_jitter: float = 0.5
    gossip_seconds: float = 5.0
    pressure_seconds: float = 0.05
    watermarks: tuple[float, float] | None = None
    watermark_bytes: tuple[float, float] | None = None
    max_pending: int = NO_LIMIT
    time_out_seconds: float = 30.0
    costs: EngineCosts = NO_COSTS

    def __post_init__(self) -> None:
        findings = Findings()
        for name in ("flush_seconds", "refresh_seconds", "pressure_seconds", "time_out_seconds"):
            check_number(findings, getattr(self, name), name, above=0.0)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_limit") or field.name in ("batch", "max_pending"):
                check_whole(findings, value, field.name)
            elif isinstance(value, float):
                check_number(findings, value, field.name)
        for name in ("watermarks", "watermark_bytes"):
            self._check_marks(findings, name)
        if not findings and self.send_threads:
            for name in ("receive_limit", "send_limit", "transfer_limit"):
                if getattr(self, name) < self.batch:
                    findings.add(
                        name,
                        seen=f"a capacity of {getattr(self, name)} with batches of {self.batch}",
                        expected="capacity for at least one full batch",
                    )
        findings.raise_if_any()

    def _check_marks(self, findings: Findings, name: str) -> None:
        marks = getattr(self, name)
        if marks is not None and not 0.0 <= marks[1] <= marks[0]:
            findings.add(name, seen=f"{marks}", expected="a high mark, and a low one below it")
        if marks is not None and not self.send_threads:
            findings.add(
                name,
                seen="queues without send threads",
                expected="send threads: other queues make their senders stand still",
            )

    @property
    def stops_sources(self) -> bool:
        """Whether a full queue stops all sources."""
        return self.watermarks is not None or self.watermark_bytes is not None

    @property
    def transfer_tuple_seconds(self) -> float:
        """The least mean time between two tuples that a worker can send to others.

        It takes a transfer thread its CPU time; and no more than the queue holds can come while the
        thread sleeps.
        """
        return max(self.transfer_seconds, self.transfer_sleep / self.transfer_limit)


# Nothing waits, nothing is limited: the queueing network and nothing else.
PLAIN = Mechanics()

Reader = tuple[str, Callable[[float], Any]]


def configure_mechanics(
    defaults: Mechanics,
    readers: Mapping[str, Reader],
    settings: Mapping[str, Setting],
) -> Mechanics:
    """The defaults with what the settings change.

    Args:
        defaults: Of the engine.
        readers: By setting: the figure it changes, and how to convert its value.
        settings: By the engine's names; settings without a reader are ignored.
    """
    findings = Findings()
    changed: dict[str, Any] = {}
    for setting, (figure, read) in readers.items():
        value = settings.get(setting)
        if value is None:
            continue
        if not isinstance(value, bool | int | float):
            findings.add("settings", setting, seen=f"{value!r}", expected="a number")
            continue
        if check_number(findings, float(value), "settings", setting):
            changed[figure] = read(float(value))
    findings.raise_if_any()
    made = defaults
    with findings.at("settings"):
        made = replace(defaults, **changed)
    findings.raise_if_any()
    return made


def milliseconds(value: float) -> float:
    """A setting in milliseconds."""
    return value / 1000.0


# A thread that asks for a sleep of 1 ms sleeps 1.09 ± 0.05 ms: the kernel groups timers, and then
# it needs a core (measured: Java 17 on Linux 6.18, 1 to 64 threads on two idle cores).
OVERSLEEP = 90e-6
SLEEP_JITTER = 50e-6


def sleep_milliseconds(value: float) -> float:
    """A setting that says how many milliseconds a thread asks to sleep; zero: not at all."""
    return value / 1000.0 + OVERSLEEP if value else 0.0


def whole(value: float) -> int:
    """A setting that is a count, limited to the largest 32-bit integer."""
    return int(min(value, NO_LIMIT))


def power_of_two(value: float) -> int:
    """A queue's capacity, which the engine rounds up to a power of two."""
    return 1 << max(int(value) - 1, 0).bit_length()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How one engine moves tuples.

    Attributes:
        hops: What lies on a connection of each type.
        mechanics: The figures of its queues, threads, routing and limits under given settings.
        settings: The names of the settings that `mechanics` reads.
        task_of_key: From (key, number of tasks) to the task that gets the key with fields grouping.
        tasks_of_key: From (key, number of tasks) to the two tasks that partial-key grouping chooses
            between.
    """

    hops: Hops
    task_order: TaskOrder
    mechanics: Callable[[Mapping[str, Setting]], Mechanics]
    settings: Collection[str] = ()
    task_of_key: Callable[[Sequence[KeyValue], int], int] = task_index
    tasks_of_key: Callable[[Sequence[KeyValue], int], tuple[int, int]] = two_choices
