package io.streamgauge.storm.agent;

import java.util.concurrent.atomic.AtomicReferenceArray;

/** What one task emitted on one stream. */
final class OutputTally {
    final String stream;
    final Count emitted = new Count();
    final Count sent = new Count();
    final Distribution bytes = new Distribution();
    final Distribution emitWall = new Distribution();
    final Distribution emitCpu = new Distribution();
    final Distribution rootLatency = new Distribution();
    private final AtomicReferenceArray<Count> byTarget;

    /**
     * Args are the stream's name and one more than the highest task of the topology.
     */
    OutputTally(String stream, int tasks) {
        this.stream = stream;
        this.byTarget = new AtomicReferenceArray<>(tasks);
    }

    void sentTo(int task) {
        if (task < 0 || task >= byTarget.length()) {
            return;
        }
        Count count = byTarget.get(task);
        if (count == null) {
            byTarget.compareAndSet(task, null, new Count());
            count = byTarget.get(task);
        }
        count.add(1);
    }

    int targets() {
        return byTarget.length();
    }

    /** Copies sent to a task since the last call. */
    long takeSentTo(int task) {
        Count count = byTarget.get(task);
        return count == null ? 0 : count.take();
    }
}
