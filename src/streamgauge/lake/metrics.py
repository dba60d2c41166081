"""Metrics: everything that an agent or the emulator can report, each with its meaning.

Times that the pipeline adds up are whole nanoseconds: sums of whole numbers do not depend on the
order of the rows. Means that an engine takes itself are in its own milliseconds.

`count` of a sample is the number of observations really taken. An exact count has a count equal to
its value; a count that the engine sampled one in twenty and multiplied up has a twentieth of it.
"""

from __future__ import annotations

from enum import Enum

from streamgauge.lake.definition import (
    INPUT,
    ORIGIN,
    OUTPUT,
    TRANSFER,
    Definition,
    Kind,
    Level,
    Unit,
    averaged,
    binned,
    counted,
    gauge,
    squares,
    summed,
    total,
)

_TASK, _EXECUTOR, _QUEUE = Level.TASK, Level.EXECUTOR, Level.QUEUE
_WORKER, _NODE, _MACHINE = Level.WORKER, Level.NODE, Level.MACHINE


class Metric(Enum):
    """A metric; its value is its definition."""

    # Tuples that leave a task.
    EMITTED = counted(_TASK, OUTPUT, "Tuples emitted on a stream, each once.")
    EMITTED_TOTAL = total(_TASK, OUTPUT, "As `emitted`, by the engine's own counter.")
    SENT = counted(_TASK, OUTPUT, "Copies of emitted tuples, one for each task they go to.")
    SENT_TOTAL = total(_TASK, OUTPUT, "As `sent`, by the engine's own counter.")
    TRANSFERRED = counted(
        _TASK, TRANSFER, "Tuples that the source task sent to this task, counted when sent."
    )
    EMITTED_BYTES = summed(
        _TASK, OUTPUT, "Size of emitted tuples when serialised; `count` tells how many.", Unit.BYTES
    )
    EMITTED_BYTES_BIN = binned(_TASK, OUTPUT, "Emitted tuples by size in bytes.")

    # Tuples that come to a task.
    RECEIVED = counted(
        _TASK, TRANSFER, "Tuples of the source task that entered this task's receive queue."
    )
    EXECUTED = counted(_TASK, INPUT, "Tuples whose execution ended.")
    EXECUTED_TOTAL = total(_TASK, INPUT, "As `executed`, by the engine's own counter.")
    ACKED = counted(_TASK, INPUT, "Input tuples that the task acked.")
    ACKED_TOTAL = total(_TASK, INPUT, "As `acked`, by the engine's own counter.")
    FAILED = counted(_TASK, INPUT, "Input tuples that the task failed.")
    FAILED_TOTAL = total(_TASK, INPUT, "As `failed`, by the engine's own counter.")

    # Tuple trees, seen by the source task of their root.
    ROOTS_ACKED = counted(_TASK, OUTPUT, "Roots whose whole tree was acked.", Unit.ROOTS)
    ROOTS_ACKED_TOTAL = total(
        _TASK, OUTPUT, "As `roots_acked`, by the engine's own counter.", Unit.ROOTS
    )
    ROOTS_FAILED = counted(
        _TASK, OUTPUT, "Roots that failed, those that ran out of time included.", Unit.ROOTS
    )
    ROOTS_FAILED_TOTAL = total(
        _TASK, OUTPUT, "As `roots_failed`, by the engine's own counter.", Unit.ROOTS
    )
    ROOTS_TIMED_OUT = counted(_TASK, OUTPUT, "Roots that ran out of time.", Unit.ROOTS)
    ROOTS_REPLAYED = counted(_TASK, OUTPUT, "Roots emitted again after a failure.", Unit.ROOTS)
    ROOTS_PENDING = gauge(_TASK, Unit.ROOTS, "Roots neither acked nor failed yet.")

    # Time of one execution, wall-clock and on a core.
    EXECUTE_LATENCY_SUM = summed(_TASK, INPUT, "Wall-clock time in execute.")
    EXECUTE_LATENCY_SQUARES = squares(_TASK, INPUT, "Squares of wall-clock times in execute.")
    EXECUTE_LATENCY_BIN = binned(_TASK, INPUT, "Executions by wall-clock time in ns.")
    EXECUTE_LATENCY_MEAN = averaged(_TASK, INPUT, "Mean time in execute, by the engine.")
    EXECUTE_CPU_SUM = summed(_TASK, INPUT, "Time on a core in execute.")
    EXECUTE_CPU_SQUARES = squares(_TASK, INPUT, "Squares of times on a core in execute.")
    EXECUTE_CPU_BIN = binned(_TASK, INPUT, "Executions by time on a core in ns.")
    EMIT_LATENCY_SUM = summed(_TASK, OUTPUT, "Wall-clock time a source took for its tuples.")
    EMIT_LATENCY_SQUARES = squares(
        _TASK, OUTPUT, "Squares of wall-clock times a source took for a tuple."
    )
    EMIT_LATENCY_BIN = binned(_TASK, OUTPUT, "A source's tuples by wall-clock time in ns.")
    EMIT_CPU_SUM = summed(_TASK, OUTPUT, "Time on a core a source took for its tuples.")
    EMIT_CPU_SQUARES = squares(
        _TASK, OUTPUT, "Squares of times on a core a source took for a tuple."
    )
    EMIT_CPU_BIN = binned(_TASK, OUTPUT, "A source's tuples by time on a core in ns.")

    # From the start of execute to the ack; contains the wait in a window.
    PROCESS_LATENCY_SUM = summed(_TASK, INPUT, "Time from the start of execute to ack or fail.")
    PROCESS_LATENCY_SQUARES = squares(
        _TASK, INPUT, "Squares of times from the start of execute to ack or fail."
    )
    PROCESS_LATENCY_BIN = binned(
        _TASK, INPUT, "Tuples by time from the start of execute to ack or fail in ns."
    )
    PROCESS_LATENCY_MEAN = averaged(
        _TASK, INPUT, "Mean time from the start of execute to ack or fail, by the engine."
    )

    # Latency of whole trees and paths.
    COMPLETE_LATENCY_SUM = summed(
        _TASK, OUTPUT, "Time a root's tree took, by the engine's own rule."
    )
    COMPLETE_LATENCY_SQUARES = squares(
        _TASK, OUTPUT, "Squares of times a root's tree took, by the engine's own rule."
    )
    COMPLETE_LATENCY_BIN = binned(
        _TASK, OUTPUT, "Roots by the time of their tree in ns, by the engine's own rule."
    )
    COMPLETE_LATENCY_MEAN = averaged(_TASK, OUTPUT, "Mean time a root's tree took, by the engine.")
    ROOT_LATENCY_SUM = summed(
        _TASK, OUTPUT, "Time from emitting a root to its ack at the source, by the source's clock."
    )
    ROOT_LATENCY_SQUARES = squares(
        _TASK, OUTPUT, "Squares of times from emitting a root to its ack at the source."
    )
    ROOT_LATENCY_BIN = binned(
        _TASK, OUTPUT, "Roots by the time from emitting to the ack at the source in ns."
    )
    # To sinks: from the emission, and, where sources have a schedule, from the due time.
    END_TO_END_LATENCY_SUM = summed(
        _TASK,
        ORIGIN,
        "Time from the emission of a root of the source component to the end of execution in this"
        " sink; clocks of two nodes may make it negative.",
        may_be_negative=True,
    )
    END_TO_END_LATENCY_SQUARES = squares(
        _TASK,
        ORIGIN,
        "Squares of times from the emission of a root to the end of execution in this sink.",
    )
    END_TO_END_LATENCY_BIN = binned(
        _TASK,
        ORIGIN,
        "Tuples by time from the emission of their root to the end of execution in this sink in"
        " ns.",
    )
    SINCE_DUE_LATENCY_SUM = summed(
        _TASK,
        ORIGIN,
        "Time from when a root of the source component was due to the end of execution in this"
        " sink; clocks of two nodes may make it negative.",
        may_be_negative=True,
    )
    SINCE_DUE_LATENCY_SQUARES = squares(
        _TASK,
        ORIGIN,
        "Squares of times from when a root was due to the end of execution in this sink.",
    )
    SINCE_DUE_LATENCY_BIN = binned(
        _TASK,
        ORIGIN,
        "Tuples by time from when their root was due to the end of execution in this sink in ns.",
    )

    # Windows.
    WINDOW_TRIGGERS = counted(_TASK, (), "Windows that fired.", Unit.TRIGGERS)
    WINDOW_TUPLES = counted(_TASK, (), "Tuples in the windows that fired.")
    WINDOW_LATENCY_SUM = summed(_TASK, (), "Wall-clock time in the window's function.")
    WINDOW_LATENCY_SQUARES = squares(
        _TASK, (), "Squares of wall-clock times in the window's function."
    )
    WINDOW_LATENCY_BIN = binned(_TASK, (), "Triggers by wall-clock time in ns.")
    WINDOW_LATENCY_MEAN = averaged(
        _TASK, (), "Mean time in the window's function, by the bolt's own metric."
    )
    WINDOW_CPU_SUM = summed(_TASK, (), "Time on a core in the window's function.")
    WINDOW_CPU_SQUARES = squares(_TASK, (), "Squares of times on a core in the window's function.")
    WINDOW_CPU_BIN = binned(_TASK, (), "Triggers by time on a core in ns.")
    WINDOW_THREAD_CPU = summed(
        _TASK, (), "CPU time of the thread that fires time windows, where it has its own."
    )

    # Queues.
    QUEUE_ARRIVALS = counted(_QUEUE, (), "Tuples that entered.")
    QUEUE_LISTS = counted(_QUEUE, (), "Lists of tuples that entered.", Unit.LISTS)
    QUEUE_ARRIVAL_RATE = gauge(_QUEUE, Unit.PER_SECOND, "Tuples that enter, by the engine.")
    TUPLES_PER_LIST_MEAN = averaged(
        _QUEUE, (), "Mean number of tuples in a list that entered.", Unit.PER_LIST
    )
    TUPLES_PER_LIST_BIN = binned(_QUEUE, (), "Lists that entered by their number of tuples.")
    QUEUE_POPULATION = gauge(_QUEUE, Unit.TUPLES, "Tuples in it, overflow left out.")
    QUEUE_CAPACITY = gauge(_QUEUE, Unit.TUPLES, "Tuples it can hold, overflow left out.")
    QUEUE_OVERFLOW = gauge(_QUEUE, Unit.TUPLES, "Tuples in the overflow list behind it.")
    QUEUE_INSERT_FAILURES = counted(
        _QUEUE, (), "Attempts to insert that found it full.", Unit.ATTEMPTS
    )
    QUEUE_INSERT_FAILURES_TOTAL = total(
        _QUEUE, (), "As `queue_insert_failures`, by the engine's own counter.", Unit.ATTEMPTS
    )
    QUEUE_DROPS = counted(_QUEUE, (), "Tuples thrown away because it was full.")
    QUEUE_DROPS_TOTAL = total(_QUEUE, (), "As `queue_drops`, by the engine's own counter.")
    QUEUE_SOJOURN_SUM = summed(_QUEUE, (), "Time from entering to leaving.")
    QUEUE_SOJOURN_SQUARES = squares(_QUEUE, (), "Squares of times from entering to leaving.")
    QUEUE_SOJOURN_BIN = binned(_QUEUE, (), "Tuples by time from entering to leaving in ns.")
    QUEUE_SOJOURN_MEAN = averaged(
        _QUEUE, (), "Mean time from entering to leaving, as the engine estimates it."
    )

    # What waits outside of the engine.
    SOURCE_LAG = gauge(
        _EXECUTOR,
        Unit.TUPLES,
        "Tuples that were due at the executor of a source, or lay in its broker, and were not"
        " emitted when the bucket ended.",
    )

    # Back-pressure.
    BACKPRESSURE_CAUSED = summed(
        _TASK, (), "Time in which this task's full queue held its senders back."
    )
    BACKPRESSURE_HELD = summed(
        _EXECUTOR, (), "Time in which this executor was held back by a full queue further on."
    )
    BACKPRESSURE_OVERFLOW = gauge(
        _TASK, Unit.TUPLES, "Overflow when back-pressure was last checked."
    )

    # Time of threads.
    EXECUTOR_CPU = summed(_EXECUTOR, (), "CPU time of the executor's thread, polling included.")
    EXECUTOR_RUN_DELAY = summed(
        _EXECUTOR, (), "Time in which the executor's thread wanted a core and had none."
    )
    EXECUTOR_IDLE = summed(_EXECUTOR, (), "Wall-clock time in which the thread had no tuple.")
    EXECUTOR_IDLE_CPU = summed(
        _EXECUTOR, (), "The part of `executor_cpu` without a tuple: polling, waking up from sleeps."
    )
    EXECUTOR_IDLE_RUN_DELAY = summed(
        _EXECUTOR, (), "The part of `executor_run_delay` without a tuple."
    )
    EXECUTOR_CAPACITY = gauge(
        _EXECUTOR, Unit.RATIO, "Share of time spent in execute, by the engine."
    )
    TRANSFER_THREAD_CPU = summed(_WORKER, (), "CPU time of the transfer thread.")
    NETWORK_THREADS_CPU = summed(_WORKER, (), "CPU time of the network threads.")
    WINDOW_THREADS_CPU = summed(_WORKER, (), "CPU time of all threads that fire time windows.")
    TIMER_THREADS_CPU = summed(_WORKER, (), "CPU time of the engine's timers, such as heartbeats.")
    AGENT_CPU = summed(_WORKER, (), "CPU time of the agent's own thread.")
    JIT_CPU = summed(_WORKER, (), "CPU time of the compiler's threads.")
    GC_CPU = summed(_WORKER, (), "CPU time of the garbage collector's threads.")
    GC_TIME = summed(_WORKER, (), "Wall-clock time in garbage collections.")
    GC_RUNS = counted(_WORKER, (), "Garbage collections.", Unit.RUNS)

    # Workers, nodes and machines.
    WORKER_CPU = summed(_WORKER, (), "CPU time of the process, all its threads.")
    WORKER_RUN_DELAY = summed(
        _WORKER,
        (),
        "Time in which threads of the process wanted a core and had none, all together.",
    )
    WORKER_EXECUTED = counted(
        _WORKER, (), "Tuples and messages whose execution ended, of all tasks in the process."
    )
    WORKER_CORES = gauge(_WORKER, Unit.CORES, "Cores the process keeps busy, by the engine.")
    WORKER_THREADS = gauge(_WORKER, Unit.THREADS, "Executor threads of the process.")
    WORKER_HEARTBEATS = counted(_WORKER, (), "Heartbeats of the process.", Unit.HEARTBEATS)
    WORKER_UPTIME = gauge(_WORKER, Unit.SECONDS, "Age of the process at the end of the bucket.")
    HEAP_USED = gauge(_WORKER, Unit.BYTES, "Heap in use.")
    HEAP_LIMIT = gauge(_WORKER, Unit.BYTES, "Most heap the process may use.")
    RESIDENT_MEMORY = gauge(_WORKER, Unit.BYTES, "Memory the process holds.")
    NETWORK_MESSAGES_SENT = counted(_WORKER, (), "Messages sent to other workers.", Unit.MESSAGES)
    NETWORK_BYTES_SENT = summed(_WORKER, (), "Bytes sent to other workers.", Unit.BYTES)
    NETWORK_PENDING = gauge(_WORKER, Unit.MESSAGES, "Messages that wait to be sent.")
    NODE_CPU = summed(_NODE, (), "CPU time of everything on the node.")
    NODE_THREADS = gauge(_NODE, Unit.THREADS, "Executor threads on the node, of all jobs.")
    MACHINE_CPU = summed(_MACHINE, (), "CPU time of everything on the machine.")
    MACHINE_STOLEN = summed(
        _MACHINE, (), "Time its virtual cores wanted to run and the host gave to others."
    )
    MACHINE_CORES = gauge(_MACHINE, Unit.CORES, "Cores that threads can run on at once.")
    MACHINE_THREADS = gauge(
        _MACHINE, Unit.THREADS, "Executor threads on the machine, of all jobs and nodes."
    )

    def __init__(self, definition: Definition) -> None:
        self.label = self._name_.lower()
        self.kind = definition.kind
        self.unit = definition.unit
        self.level = definition.level
        self.keys = definition.keys
        self.whole = definition.whole
        self.may_be_negative = definition.may_be_negative
        self.meaning = definition.meaning
        # Such a value is never below the count of its sample.
        self.counts_observations = (
            definition.kind is not Kind.GAUGE and definition.unit.counts_observations
        )

    def __str__(self) -> str:
        return self.label


METRICS = {metric.label: metric for metric in Metric}


def metrics_table() -> str:
    """The Markdown table of all metrics, for the page on the raw format."""
    lines = ["| metric | kind | unit | level | keys | value | meaning |", "|" + "---|" * 7]
    for metric in Metric:
        keys = ", ".join(f"`{key}`" for key in metric.keys) or "–"
        value = "whole" if metric.whole else "number"
        if metric.may_be_negative:
            value += ", any sign"
        lines.append(
            f"| `{metric.label}` | {metric.kind} | {metric.unit} | {metric.level.label} | {keys}"
            f" | {value} | {metric.meaning} |"
        )
    return "\n".join(lines) + "\n"
