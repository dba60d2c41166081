"""The event loop: every tuple of a job, from the moment it is due to its last acknowledgement.

Storm 2.x: an executor's thread takes tuples from its receive queue one by one, spends CPU and
waiting time on each, and puts what it emits straight into the receive queues of its own worker, or
into the worker's transfer queue, whose thread hands it to the network. Ackers are executors like
any other. All threads of a machine share its cores.

The loop is one function on purpose: its state lives in local arrays. Handing that state to
functions of its own costs the counting of a hundred references for each call, and that, measured,
is far more than the work itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamgauge.simulation.cores import Cores, next_finish, start, stop_first
from streamgauge.simulation.draws import Draws, draw
from streamgauge.simulation.emissions import Emissions, next_due
from streamgauge.simulation.program import BY_KEY, EVERY, IN_TURN, NONE, SOURCE, TRACKER, Program
from streamgauge.simulation.random_streams import next_word, uniform
from streamgauge.simulation.timers import UNSET, Timers, clear_timer, first_timer, set_timer

# What a thread is doing.
IDLE, WAKING, ON_CORE, WAITING, AFTERWARDS = range(5)
# What a message is, where it is not a subscription's tuple.
INIT, ACK, DONE, DUE = -1, -2, -3, -4
# Why the loop returned.
REACHED, BUDGET_SPENT, POOL_FULL, ROOTS_FULL = range(4)
# Latencies from a microsecond on in bins of one per cent.
SMALLEST, BINS_PER_E, BINS = 1e-6, 100, 2400

# A message: a tuple, or word about one, on its way through the queues.
MESSAGE = np.dtype(
    [
        ("link", np.int64),  # the next one in its queue
        ("what", np.int64),  # the subscription it belongs to, or INIT, ACK, DONE, DUE
        ("task", np.int64),  # where it goes
        ("root", np.int64),  # the tree it belongs to; of what is due, the stream
        ("edge", np.uint64),  # its id, or the sum of ids it tells of
        ("born", np.float64),  # when its root was emitted
        ("rest", np.float64),  # waiting time ahead of it, or when it arrives
    ]
)
# An open tuple tree.
ROOT = np.dtype(
    [
        ("link", np.int64),
        ("sum", np.uint64),  # exclusive or of all ids the acker was told
        ("known", np.int64),  # whether the acker was told that it began
        ("first", np.float64),  # when the acker heard of it first; negative: not yet
        ("born", np.float64),
        ("source", np.int64),  # the task that waits for its end
    ]
)
# A queue of messages, with its length added up over time.
QUEUE = np.dtype(
    [
        ("head", np.int64),
        ("tail", np.int64),
        ("length", np.int64),
        ("area", np.float64),
        ("changed", np.float64),
    ]
)
THREAD = np.dtype(
    [
        ("phase", np.int64),
        ("current", np.int64),
        ("idle_since", np.float64),
        ("busy_since", np.float64),
        ("busy", np.float64),
        ("extra", np.float64),  # CPU time of sending, to be spent before the next message
        ("pending", np.int64),
        ("executed", np.int64),
        ("emitted", np.int64),
    ]
)


class Waiting(NamedTuple):
    """How idle threads wait, in seconds.

    Attributes:
        bolt_spin: How long an idle executor polls before it sleeps.
        bolt_sleep: How long it then sleeps at a time.
        source_sleep: How long a source sleeps after it found nothing to emit.
        transfer_sleep: How long a transfer thread sleeps when its queue is empty.
        transfer_work: CPU time of the transfer thread for one tuple.
    """

    bolt_spin: float
    bolt_sleep: float
    source_sleep: float
    transfer_sleep: float
    transfer_work: float


class State(NamedTuple):
    """Everything that changes while a simulation runs.

    Queues are, for each executor, its receive queue and (sources) what is due; for each worker its
    transfer queue; for each pair of workers what is on the way.

    Attributes:
        now: Simulated time, in an array of one.
        timers: Of emission processes, threads, machines and pairs of workers, in this order.
        cores: The machines.
        random: A stream for each executor, then for each emission process.
        queue: All queues.
        message: The pool of messages.
        root: The pool of roots.
        thread: All threads.
        free: First free message, how many are; first free root, how many are.
        turn: Whose turn it is, by executor and subscription.
        outbox: Messages that the event at hand has created.
        ready: Threads that go on at this very moment.
        latency: Counts by bin: of each operator, then complete, then as the source sees it.
        latency_sum: Sums of the same, in seconds.
    """

    now: NDArray[Any]
    timers: Timers
    cores: Cores
    random: NDArray[Any]
    queue: NDArray[Any]
    message: NDArray[Any]
    root: NDArray[Any]
    thread: NDArray[Any]
    free: NDArray[Any]
    turn: NDArray[Any]
    outbox: NDArray[Any]
    ready: NDArray[Any]
    latency: NDArray[Any]
    latency_sum: NDArray[Any]


@njit(cache=True, forceinline=True)
def _push(queue: NDArray[Any], message: NDArray[Any], at: int, which: int, now: float) -> None:
    q = queue[at]
    message[which].link = NONE
    if q.length == 0:
        q.head = which
    else:
        message[q.tail].link = which
    q.tail = which
    q.area += q.length * (now - q.changed)
    q.changed = now
    q.length += 1


@njit(cache=True, forceinline=True)
def _pop(queue: NDArray[Any], message: NDArray[Any], at: int, now: float) -> int:
    q = queue[at]
    which = q.head
    q.head = message[which].link
    q.area += q.length * (now - q.changed)
    q.changed = now
    q.length -= 1
    return int(which)


@njit(cache=True, forceinline=True)
def _wakes_at(idle_since: float, spin: float, sleep: float, now: float) -> float:
    """When an idle thread notices its work: at once while it polls, else when its sleep ends."""
    asleep = now - idle_since - spin
    if sleep <= 0.0 or asleep <= 0.0:
        return now
    return float(max(now, idle_since + spin + np.ceil(asleep / sleep) * sleep))


@njit(cache=True, forceinline=True)
def _record(counts: NDArray[Any], sums: NDArray[Any], row: int, seconds: float) -> None:
    place = 0
    if seconds > SMALLEST:
        place = min(int(np.log(seconds / SMALLEST) * BINS_PER_E), BINS - 1)
    counts[row, place] += 1
    sums[row] += seconds


@njit(cache=True)
def run(
    p: Program,
    s: State,
    d: Draws,
    e: Emissions,
    w: Waiting,
    until: float,
    budget: int,
    reserve: int,
) -> int:
    """Let the simulation go on until a time, a number of events or the end of a pool.

    Args:
        p: What does not change.
        s: What does.
        d: Distributions.
        e: Emission processes.
        w: How idle threads wait.
        until: Simulated time to reach.
        budget: Events to handle at the most.
        reserve: Messages that must be free before an event: the most that one can create.
    """
    timers, cores = s.timers, s.cores
    queue, message, root, thread = s.queue, s.message, s.root, s.thread
    free, outbox, ready, random, turn = s.free, s.outbox, s.ready, s.random, s.turn
    latency, latency_sum = s.latency, s.latency_sum
    kind, operator_of, worker, machine_of = p.kind, p.operator, p.worker, p.machine
    executor_of, ackers, acker_first = p.executor_of_task, p.ackers, p.acker_first
    target, target_first, target_share, rule = p.target, p.target_first, p.target_share, p.rule
    subscriptions = len(rule)
    processes, executors = len(p.process_executor), len(kind)
    workers, operators = p.latency.shape[0], len(p.is_sink)
    threads, machines = processes, processes + len(worker)
    links = machines + len(cores.capacity)
    transfers, ways = 2 * executors, 2 * executors + workers
    for _ in range(budget):
        timer = first_timer(timers)
        if timer == UNSET or timers.time[timer] > until:
            s.now[0] = until
            return REACHED
        if free[1] < reserve:
            return POOL_FULL
        if ackers > 0 and free[3] == 0:
            return ROOTS_FULL
        now = timers.time[timer]
        s.now[0] = now
        finishing, beginning, sent, waiting = NONE, NONE, 0, 0
        # What goes off: a tuple is due, a thread wakes or has waited, a thread leaves its core,
        # or a message arrives from another worker.
        if timer < processes:
            which = free[0]
            free[0] = message[which].link
            free[1] -= 1
            m = message[which]
            m.what, m.root, m.task = DUE, p.process_stream[timer], p.process_task[timer]
            m.born = now
            source = p.process_executor[timer]
            _push(queue, message, executors + source, which, now)
            if thread[source].phase == IDLE:
                thread[source].phase = WAKING
                when = _wakes_at(thread[source].idle_since, 0.0, w.source_sleep, now)
                if when > now:
                    set_timer(timers, threads + source, when)
                else:
                    beginning = source
            set_timer(timers, timer, next_due(e, timer, now, random, executors + timer))
        elif timer < machines:
            clear_timer(timers, timer)
            if thread[timer - threads].phase == WAITING:
                finishing = timer - threads
            else:
                beginning = timer - threads
        elif timer < links:
            machine = timer - machines
            one = stop_first(cores, machine, now)
            if cores.running[machine] > 0:
                set_timer(timers, timer, next_finish(cores, machine))
            else:
                clear_timer(timers, timer)
            which = thread[one].current
            if one >= executors:
                home, away = one - executors, worker[executor_of[message[which].task]]
                way = ways + home * workers + away
                arrives = now + p.latency[home, away]
                if queue[way].length > 0:
                    # A connection keeps its order.
                    arrives = max(arrives, message[queue[way].tail].rest)
                else:
                    set_timer(timers, links + home * workers + away, arrives)
                message[which].rest = arrives
                _push(queue, message, way, which, now)
                beginning = one
            elif thread[one].phase == AFTERWARDS:
                beginning = one
            elif message[which].rest > 0.0:
                thread[one].phase = WAITING
                set_timer(timers, threads + one, now + message[which].rest)
            else:
                finishing = one
        else:
            way = ways + timer - links
            outbox[0] = _pop(queue, message, way, now)
            sent = 1
            if queue[way].length > 0:
                set_timer(timers, timer, message[queue[way].head].rest)
            else:
                clear_timer(timers, timer)

        # One thing leads to another at the same moment, until every thread waits for something.
        while True:
            if finishing != NONE and (free[1] < reserve or (ackers > 0 and free[3] == 0)):
                # Not enough room for what this may create: come back when there is more.
                thread[finishing].phase = WAITING
                set_timer(timers, threads + finishing, now)
                finishing = NONE
            # What a served message leads to: outputs, acknowledgements, the end of a tree.
            stream, emissions, born, tree = NONE, 0, now, NONE
            output, last_output = 0, 0
            edges = np.uint64(0)
            if finishing != NONE:
                which = thread[finishing].current
                m = message[which]
                if m.what == DUE:
                    stream, emissions = m.root, 1
                    if ackers > 0:
                        tree = free[2]
                        free[2] = root[tree].link
                        free[3] -= 1
                        r = root[tree]
                        r.sum, r.known, r.first = np.uint64(0), 0, -1.0
                        r.born, r.source = now, m.task
                        thread[finishing].pending += 1
                elif m.what >= 0:
                    thread[finishing].executed += 1
                    tree, born, edges = m.root, m.born, m.edge
                    row = operator_of[finishing] * subscriptions + m.what
                    output, last_output = p.output_first[row], p.output_first[row + 1]
                    if p.is_sink[operator_of[finishing]] == 1:
                        _record(latency, latency_sum, operator_of[finishing], now - born)
                elif m.what == DONE:
                    thread[finishing].pending -= 1
                    _record(latency, latency_sum, operators + 1, now - root[m.root].born)
                    root[m.root].link = free[2]
                    free[2] = m.root
                    free[3] += 1
                else:
                    thread[finishing].executed += 1
                    r = root[m.root]
                    if r.first < 0.0:
                        r.first = now
                    r.sum ^= m.edge
                    if m.what == INIT:
                        r.known = 1
                    if r.known == 1 and r.sum == 0:
                        _record(latency, latency_sum, operators, now - r.first)
                        done = free[0]
                        free[0] = message[done].link
                        free[1] -= 1
                        message[done].what, message[done].root = DONE, m.root
                        message[done].task = r.source
                        outbox[sent] = done
                        sent += 1
                what = m.what
                while True:
                    while emissions > 0:
                        emissions -= 1
                        thread[finishing].emitted += 1
                        key = NONE
                        if p.key_draw[stream] != NONE:
                            key = int(draw(d, p.key_draw[stream], random, finishing))
                        for place in range(p.stream_first[stream], p.stream_first[stream + 1]):
                            subscription = p.subscription[place]
                            row = finishing * subscriptions + subscription
                            first, last = target_first[row], target_first[row + 1]
                            chooses = rule[subscription]
                            copies = last - first if chooses == EVERY else 1
                            for copy in range(copies):
                                if chooses == EVERY:
                                    task = target[first + copy]
                                elif chooses == BY_KEY:
                                    task = p.key_task[p.key_first[subscription] + key]
                                elif chooses == IN_TURN:
                                    task = target[first + turn[row]]
                                    turn[row] = turn[row] + 1 if first + turn[row] + 1 < last else 0
                                else:
                                    wanted = uniform(random, finishing)
                                    place_of = first
                                    while place_of + 1 < last and target_share[place_of] <= wanted:
                                        place_of += 1
                                    task = target[place_of]
                                new = free[0]
                                free[0] = message[new].link
                                free[1] -= 1
                                n = message[new]
                                n.what, n.task, n.root, n.born = subscription, task, tree, born
                                if tree != NONE:
                                    n.edge = next_word(random, finishing)
                                    edges ^= n.edge
                                outbox[sent] = new
                                sent += 1
                    if output < last_output and p.output_share[output] >= 0.0:
                        # Alternatives: at most one of them, and then no more.
                        wanted = uniform(random, finishing)
                        while output < last_output and p.output_share[output] <= wanted:
                            output += 1
                        if output < last_output:
                            stream, emissions = p.output_stream[output], 1
                            output = last_output
                            continue
                    if output >= last_output:
                        break
                    stream = p.output_stream[output]
                    emissions = int(draw(d, p.output_count[output], random, finishing))
                    output += 1
                if tree != NONE and (what == DUE or what >= 0):
                    new = free[0]
                    free[0] = message[new].link
                    free[1] -= 1
                    n = message[new]
                    n.what, n.root, n.edge = INIT if what == DUE else ACK, tree, edges
                    n.task = acker_first + tree % ackers
                    outbox[sent] = new
                    sent += 1
                    thread[finishing].extra += p.ack[operator_of[finishing]]
                message[which].link = free[0]
                free[0] = which
                free[1] += 1

            # What was sent: into a receive queue of the same worker, or to its transfer thread.
            for place in range(sent):
                which = outbox[place]
                goal = executor_of[message[which].task]
                at = goal
                if finishing != NONE and worker[goal] != worker[finishing]:
                    thread[finishing].extra += p.serialise[operator_of[finishing]]
                    goal = executors + worker[finishing]
                    at = transfers + worker[finishing]
                _push(queue, message, at, which, now)
                if thread[goal].phase == IDLE:
                    spin, sleep = w.bolt_spin, w.bolt_sleep
                    if goal >= executors:
                        spin, sleep = 0.0, w.transfer_sleep
                    elif kind[goal] == SOURCE:
                        spin, sleep = 0.0, w.source_sleep
                    thread[goal].phase = WAKING
                    when = _wakes_at(thread[goal].idle_since, spin, sleep, now)
                    if when > now:
                        set_timer(timers, threads + goal, when)
                    else:
                        ready[waiting] = goal
                        waiting += 1
            sent = 0

            if finishing != NONE:
                if thread[finishing].extra > 0.0:
                    thread[finishing].phase = AFTERWARDS
                    machine = machine_of[finishing]
                    start(cores, machine, finishing, thread[finishing].extra, now)
                    set_timer(timers, machines + machine, next_finish(cores, machine))
                    thread[finishing].extra = 0.0
                else:
                    beginning = finishing
                finishing = NONE

            # What the thread does next: its next message, or nothing.
            if beginning != NONE:
                t = thread[beginning]
                if t.phase == WAKING:
                    t.busy_since = now
                column, factor, work, rest = subscriptions, 1.0, 0.0, 0.0
                which = NONE
                serves = True
                if beginning >= executors:
                    if queue[transfers + beginning - executors].length > 0:
                        which = _pop(queue, message, transfers + beginning - executors, now)
                        work, serves = w.transfer_work, False
                elif queue[beginning].length > 0:
                    which = _pop(queue, message, beginning, now)
                    m = message[which]
                    factor = p.factor[m.task]
                    if m.what >= 0:
                        column = m.what
                    elif kind[beginning] == TRACKER:
                        work = p.ack[operator_of[beginning]]
                    else:
                        serves = False
                elif kind[beginning] == SOURCE and t.pending < p.max_pending:
                    if queue[executors + beginning].length > 0:
                        which = _pop(queue, message, executors + beginning, now)
                    elif p.unlimited[beginning] != NONE:
                        which = free[0]
                        free[0] = message[which].link
                        free[1] -= 1
                        m = message[which]
                        m.what, m.root = DUE, p.unlimited[beginning]
                        m.task, m.born = p.task_of_executor[beginning], now
                if which == NONE:
                    t.busy += now - t.busy_since
                    t.phase, t.idle_since = IDLE, now
                else:
                    if serves:
                        row = operator_of[beginning]
                        work += draw(d, p.cpu[row, column], random, beginning) * factor
                        rest = draw(d, p.wait[row, column], random, beginning) * factor
                    if beginning < executors:
                        message[which].rest = rest
                    t.current = which
                    if work > 0.0 or beginning >= executors:
                        t.phase = ON_CORE
                        machine = machine_of[beginning]
                        start(cores, machine, beginning, work, now)
                        set_timer(timers, machines + machine, next_finish(cores, machine))
                    elif rest > 0.0:
                        t.phase = WAITING
                        set_timer(timers, threads + beginning, now + rest)
                    else:
                        t.phase = ON_CORE
                        finishing = beginning
                beginning = NONE
            if finishing == NONE:
                if waiting == 0:
                    break
                waiting -= 1
                beginning = ready[waiting]
    return BUDGET_SPENT
