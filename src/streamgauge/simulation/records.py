"""What the event loop knows, as records in arrays: one kind of thing, one array.

Whole numbers that name something (a message, a queue, a thread) are its place in its array, and
NONE where there is nothing. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NONE = -1
# What an executor is.
SOURCE, PROCESSOR, TRACKER = range(3)
# What a thread is: an executor's own, a send thread, a worker's transfer and receive threads, or
# the thread of a task's time triggers.
EXECUTOR, SEND, TRANSFER, RECEIVE, TRIGGER = range(5)
# What a thread is doing.
IDLE, WAKING, ON_CORE, WAITING, AFTERWARDS, BLOCKED = range(6)
# What a message is, where it is not a subscription's tuple.
INIT, ACK, DONE, DUE, FAIL, FAILED, FLUSH = -1, -2, -3, -4, -5, -6, -7
# How a subscription chooses tasks: one of a list in turn, by key, the less used of two by key,
# by shares, all, or near ones that are not loaded.
IN_TURN, BY_KEY, BY_KEY_OF_TWO, BY_SHARE, EVERY, NEAR_AND_FREE = range(6)
# How an operator joins its inputs.
NO_JOIN, ON_KEY, BY_PARITY = range(3)
# Why the loop returned.
REACHED, BUDGET_SPENT, NO_ROOM = range(3)
# How traced roots end.
ACKED, FAILED_ROOT = range(2)
# Places in the state's `counts`.
(
    READY_THREADS,
    FLOODED_QUEUES,
    LAST_MARK,
    HOPS_TRACED,
    FIRST_HOP_KEPT,
    HOPS_KEPT,
    TRACE_EVERY,
    ROOTS_EMITTED,
    DISTURBED,
    FIRST_POLLER,
    LAST_POLLER,
) = range(11)
# Places in the state's `free`: lists of free records, each with its length.
FIRST_FREE_MESSAGE, FREE_MESSAGES, FIRST_FREE_ROOT, FREE_ROOTS = range(4)
FIRST_FREE_ANCHOR, FREE_ANCHORS = range(4, 6)

_I4, _I8, _U8, _F8 = np.int32, np.int64, np.uint64, np.float64
# Bytes of a cache line.
LINE = 64


def _record(**fields: Any) -> np.dtype[Any]:
    return np.dtype(list(fields.items()), align=True)


def _lines(**fields: Any) -> np.dtype[Any]:
    """A record of whole cache lines; what most events look at stands in the first ones."""
    packed = _record(**fields)
    places: Mapping[str, Any] = packed.fields or {}
    return np.dtype(
        {
            "names": list(fields),
            "formats": list(fields.values()),
            "offsets": [places[name][1] for name in fields],
            "itemsize": -(-packed.itemsize // LINE) * LINE,
        }
    )


def make_records(kind: np.dtype[Any], count: int) -> NDArray[Any]:
    """So many records, all zero, the first at the beginning of a cache line."""
    room = np.zeros(count * kind.itemsize + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + count * kind.itemsize].view(kind)


# A message: a tuple, or word about one, on its way through the queues.
MESSAGE = _lines(
    link=_I4,  # the next one in its queue
    what=_I4,  # the subscription it belongs to, or INIT, ACK, …
    task=_I4,  # where it goes
    sender=_I4,  # the task that emitted it
    root=_I8,  # the tree it belongs to, with its generation; of what is due, the stream
    edge=_U8,  # its id and those of its children, or the sum of ids it tells of
    born=_F8,  # when its root was emitted
    due=_F8,  # when its root should have been
    arrived=_F8,  # when it came to its queue; on the network, when it will
    path=_I4,  # the way it came
    anchors=_I4,  # its roots if there are several
    # What only some jobs look at (`labelled`):
    size=_F8,  # bytes
    key=_I4,
    hop=_I4,  # its place in the trace
    started=_F8,  # when its service began
    # What few messages have:
    objects=_I4,  # of the first message of a batch: how many objects, tuples, and the last message
    tuples=_I4,
    last=_I4,
    older=_I4,  # neighbours by age in a join
    younger=_I4,
)
# One of several roots of a message.
ANCHOR = _record(link=_I4, path=_I4, root=_I8, edge=_U8, born=_F8, due=_F8, weight=_I4)
# An open tuple tree.
ROOT = _lines(
    link=_I4,
    generation=_I4,
    sum=_U8,  # exclusive or of all ids the acker was told
    known=_I4,  # whether the acker was told that it began
    ended=_I4,  # whether the acker has given its verdict
    first=_F8,  # when the acker heard of it first; negative: not yet
    born=_F8,
    due=_F8,
    task=_I4,  # the source task that waits for its end
    stream=_I4,
    older=_I4,  # neighbours by age among the open roots of its executor
    younger=_I4,
    # What only some jobs look at:
    taken=_F8,  # complete latency by the acker's clock
    hop=_I4,
    place=_I4,
    mark=_I8,  # who looked at it last while anchors were gathered, and where it stands there
)
# A queue: a list of messages, the first `taken` of them already the consumer's. In a batched
# queue follow those in the ring, batches that overflowed, and the batch that is being filled. In a
# plain queue what came from other workers when it was full stands in a list of its own, from
# which the consumer takes all there are (`taken`) each time the queue is empty.
QUEUE = _lines(
    head=_I4,
    tail=_I4,
    length=_I4,
    flushes=_I4,  # how many of its messages are flush tuples: they take room, and are not counted
    overflow=_I4,  # of a plain queue: how many of its messages came when it was full
    taken=_I4,
    limit=_I4,
    consumer=_I4,
    waiter=_I4,  # threads that wait for room, first to last
    peak=_I4,
    area=_F8,  # tuples in it added up over time
    changed=_F8,
    sojourn=_F8,  # time from arrival to service, added up
    # Beside counters, what batched queues look at:
    arrived=_I8,
    objects=_I8,
    phase=_F8,  # of its flush timer
    ring_objects=_I4,
    ring_tuples=_I4,
    over_head=_I4,  # the first that overflowed
    batch_head=_I4,
    batch_objects=_I4,
    batch_tuples=_I4,
    lingering=_I4,  # whether a flush waits for room
    high_water=_I4,  # length above which it stops all sources
    flooded=_I4,  # whether it does
    # What few queues have:
    over_tail=_I4,  # of a plain queue: the last that overflowed, in a list of their own
    pressed=_I4,  # whether other workers were told to hold back
    low_water=_I4,  # length below which it no longer stops sources
    last_waiter=_I4,
    held_back=_I4,  # threads of other workers that hold back
    pressed_at=_F8,
    dropped=_I8,
    caused=_F8,  # time that threads were blocked because of it
)
THREAD = _lines(
    what=_I4,
    phase=_I4,
    kind=_I4,  # of its executor, where it is its own thread
    operator=_I4,
    executor=_I4,  # that it belongs to, or NONE
    worker=_I4,
    machine=_I4,
    current=_I4,
    held=_I4,  # messages made and not yet delivered, first to last
    last_held=_I4,
    window=_I4,  # whose trigger it has to handle
    polling=_I4,
    idle_since=_F8,
    busy_since=_F8,
    # Times and counters:
    work=_F8,  # CPU time of the service at hand, and
    rest=_F8,  # the waiting time that follows it
    extra=_F8,  # CPU time of sending, to be spent before delivery
    busy=_F8,
    cpu=_F8,
    rested=_F8,  # the waiting time of all services that have begun
    executed=_I8,
    emitted=_I8,
    # Of sources:
    pending=_I4,
    unlimited=_I4,  # the stream it emits on whenever asked
    throttled=_I4,  # whether a tuple is due that may not be emitted
    oldest=_I4,  # open roots of a source's executor
    youngest=_I4,
    batches=_I4,  # producer batches with something in them
    # Of those that poll, in the order in which they began:
    poller_before=_I4,
    poller_after=_I4,
    # Of those that are blocked, and what is seldom counted:
    blocked_on=_I4,
    next_waiter=_I4,
    blocked_since=_F8,
    blocked=_F8,
    throttled_since=_F8,
    throttled_time=_F8,
    failed=_I8,
    timed_out=_I8,
    replayed=_I8,
)
# A batch of one producer for one queue (Storm 2.x).
BATCH = _record(head=_I4, tail=_I4, count=_I4, listed=_I4, next=_I4)
# The window of one task.
WINDOW = _record(
    queue=_I4,
    thread=_I4,  # of its time triggers, or NONE
    task=_I4,
    length=_I4,  # in tuples, or 0
    slide=_I4,
    since_trigger=_I4,
    since_scan=_I4,
    size=_I4,  # tuples in the window whose function runs
    roots=_I4,  # acknowledgements that its tuples will take
    span=_F8,  # length in seconds, or 0
    every=_F8,  # slide in seconds, or 0
    phase=_F8,
    reference=_F8,  # the last trigger
    due=_F8,  # the time trigger at hand, or the last one
    started=_F8,
    triggers=_I8,
    tuples=_I8,
    wall=_F8,
    wall_squares=_F8,
    cpu=_F8,
    cpu_squares=_F8,
)
# What does not change: of tasks, operators, streams, subscriptions and their routes.
TASK = _record(executor=_I4, operator=_I4, factor=_F8, window=_I4, join=_I4)
OPERATOR = _record(
    kind=_I4,
    sink=_I4,
    join=_I4,
    equal=_I4,  # streams of a join by parity
    different=_I4,
    inputs=_I4,  # how many streams a join on keys waits for
    fails=_F8,
    serialise=_F8,
    serialise_byte=_F8,
    deserialise=_F8,
    deserialise_byte=_F8,
    ack=_F8,
    replays=_I4,
    window_cpu=_I4,
    window_wait=_I4,
    window_tuple=_F8,
    keys=_I4,  # how many keys a join knows
    within=_F8,  # how long it waits for partners
)
STREAM = _record(
    first=_I4,  # of its subscriptions,
    last=_I4,
    only=_I4,  # or the only one, where it sends to one task at a time
    key=_I4,
    size=_I4,
    keyed=_I4,  # whether a subscription looks at keys
)
SUBSCRIPTION = _record(rule=_I4, stream=_I4, keys=_I4, join_keys=_I4, input=_I4, target=_I4)
ROUTE = _record(
    first=_I4,
    last=_I4,
    turn=_I4,
    scope=_I4,
    worker_size=_I4,  # targets in the own worker, on the own host, in the own rack
    host_size=_I4,
    rack_size=_I4,
    choice=_I4,  # where its list of choices begins
    choices=_I4,
)
SERVICE = _record(cpu=_I4, wait=_I4)
OUTPUT = _record(stream=_I4, count=_I4, share=_F8)
PROCESS = _record(executor=_I4, stream=_I4, task=_I4)
LINK = _record(head=_I4, tail=_I4, length=_I4, carried=_I8)
# What is counted for each (task, subscription) and (task, stream).
INPUT = _lines(
    executed=_I8,
    acked=_I8,
    failed=_I8,
    sampled=_I8,
    pick=_I4,  # which of twenty executions, and which of twenty acks, the engine looks at
    ack_pick=_I4,
    wall=_F8,
    wall_squares=_F8,
    cpu=_F8,
    cpu_squares=_F8,
    process=_F8,
    process_squares=_F8,
    sampled_wall=_F8,
    sampled_process=_F8,
    sampled_processes=_I8,
)
EMITTED = _lines(
    emitted=_I8,
    sent=_I8,
    size=_F8,
    roots_acked=_I8,
    roots_failed=_I8,
    roots_timed_out=_I8,
    roots_replayed=_I8,
    wall=_F8,
    wall_squares=_F8,
    cpu=_F8,
    cpu_squares=_F8,
    complete=_F8,
    complete_squares=_F8,
    seen=_F8,
    seen_squares=_F8,
    completed=_I8,
    pick=_I4,
    sampled_roots=_I8,
    sampled_complete=_F8,
)
HOP = _record(
    parent=_I8,
    task=_I4,
    what=_I4,
    key=_I4,
    outcome=_I4,
    arrived=_F8,
    started=_F8,
    finished=_F8,
)
