"""Names of the figures that are estimated from metrics, as metrics have theirs.

Names that end in ``rate`` are per second. Shares of time and cores are time over time. Times are in
milliseconds.
"""

from __future__ import annotations

from enum import StrEnum


class FigureName(StrEnum):
    """What a figure is: the column ``figure`` of the tables between Spark and a profile."""

    # Tuples of tasks, by stream.
    ARRIVAL_RATE = "arrival_rate"
    EMISSION_RATE = "emission_rate"
    SENT_RATE = "sent_rate"
    TRANSFER = "transfer"
    ROOTS_ACKED_RATE = "roots_acked_rate"
    DISPERSION = "dispersion"
    FAILED_SHARE = "failed_share"
    TUPLE_BYTES = "tuple_bytes"
    BACKPRESSURE = "backpressure"
    # Times of tasks.
    SERVICE_WALL = "service_wall"
    SERVICE_CPU = "service_cpu"
    CPU_BY_INPUT = "cpu_by_input"
    EMIT_WALL = "emit_wall"
    EMIT_CPU = "emit_cpu"
    COMPLETE = "complete"
    ROOT = "root"
    END_TO_END = "end_to_end"
    # Tuples out for tuples in.
    COEFFICIENT = "coefficient"
    LINEAR = "linear"
    # Windows of tasks.
    TRIGGER_RATE = "trigger_rate"
    PER_TRIGGER = "per_trigger"
    WINDOW_TUPLES = "window_tuples"
    WINDOW_WALL = "window_wall"
    WINDOW_CPU = "window_cpu"
    CPU_BY_TRIGGER = "cpu_by_trigger"
    # Executors.
    EXECUTOR_CORES = "executor_cores"
    IDLE = "idle"
    HELD = "held"
    ENGINE_CAPACITY = "engine_capacity"
    # Queues.
    QUEUE_RATE = "queue_rate"
    TUPLES_PER_LIST = "tuples_per_list"
    QUEUE_LENGTH = "queue_length"
    QUEUE_OVERFLOW = "queue_overflow"
    QUEUE_LIMIT = "queue_limit"
    SOJOURN = "sojourn"
    DROP_RATE = "drop_rate"
    # Workers.
    WORKER_CORES = "worker_cores"
    WORKER_THREADS = "worker_threads"
    TRANSFER_CORES = "transfer_cores"
    NETWORK_CORES = "network_cores"
    GC_CORES = "gc_cores"
    HEAP_BYTES = "heap_bytes"
    MEMORY_BYTES = "memory_bytes"
    BYTES_RATE = "bytes_rate"
    # Nodes and machines.
    HOST_CORES = "host_cores"
    HOST_THREADS = "host_threads"
    AVAILABLE = "available"
    STOLEN = "stolen"
