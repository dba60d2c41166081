package io.streamgauge.storm.agent;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * One executor: its tasks, and the clock of its thread.
 *
 * <p>An engine's hook is called when an execution ends. It began when the thread was last free: at
 * the end of the execution before, or when it last came back from waiting.
 */
final class ExecutorTally {
    final String component;
    final Count idle = new Count();
    final Count held = new Count();
    final LookedAtWaits waits = new LookedAtWaits();
    private final List<TaskTally> tasks = new CopyOnWriteArrayList<>();
    private volatile long threadNumber = OwnThread.UNKNOWN;
    // Touched by the executor's own thread alone.
    private OwnThread thread;
    private boolean watched;
    private long freeSince;

    ExecutorTally(String component) {
        this.component = component;
    }

    void join(TaskTally task) {
        tasks.add(task);
    }

    List<TaskTally> tasks() {
        return tasks;
    }

    int firstTask() {
        return tasks.stream().mapToInt(one -> one.task).min().orElse(-1);
    }

    int lastTask() {
        return tasks.stream().mapToInt(one -> one.task).max().orElse(-1);
    }

    String label() {
        return Names.executor(component, firstTask(), lastTask());
    }

    /** The thread that asks, which must be the executor's own. */
    OwnThread ownThread() {
        if (thread == null) {
            thread = OwnThread.current();
            threadNumber = thread.number();
        }
        return thread;
    }

    /** The system's number of the executor's thread, once that has been here. */
    long threadNumber() {
        return threadNumber;
    }

    /** The thread waited for tuples. */
    void waited(long fromNanos, long toNanos) {
        idle.addAlone(toNanos - fromNanos);
        freed(toNanos);
    }

    /** The thread waited for room in a queue further on. */
    void wasHeld(long fromNanos, long toNanos) {
        held.addAlone(toNanos - fromNanos);
        freed(toNanos);
    }

    private void freed(long nanos) {
        watched = true;
        freeSince = nanos;
    }

    /** Whether the thread has waited yet: before that nobody knows when it was free. */
    boolean isWatched() {
        return watched;
    }

    /** When the thread last came back from waiting, or ended an execution. */
    long freeSince() {
        return freeSince;
    }

    /** Nanoseconds the execution took that ends now; below zero where nobody knows. */
    long executionEnded(long nanos) {
        long took = watched ? nanos - freeSince : -1;
        freeSince = nanos;
        return took;
    }
}
