package io.streamgauge.storm.agent;

import java.util.concurrent.atomic.AtomicLongArray;

/** What one task emitted on one stream. */
final class OutputTally {
    final String stream;
    final Count emitted = new Count();
    final Distribution bytes = new Distribution();
    final Distribution emitWall = new Distribution();
    final Distribution emitCpu = new Distribution();
    final Distribution rootLatency = new Distribution();
    private final AtomicLongArray sent;
    private final long[] sentBefore;

    /** The stream's name, and one more than the highest task of the topology. */
    OutputTally(String stream, int tasks) {
        this.stream = stream;
        this.sent = new AtomicLongArray(tasks);
        this.sentBefore = new long[tasks];
    }

    void sentTo(int task) {
        if (task >= 0 && task < sent.length()) {
            sent.getAndIncrement(task);
        }
    }

    /** Copies sent since the last call, by task; by the agent's thread only. */
    long[] takeSent() {
        long[] grown = new long[sentBefore.length];
        for (int task = 0; task < grown.length; task++) {
            long now = sent.get(task);
            grown[task] = now - sentBefore[task];
            sentBefore[task] = now;
        }
        return grown;
    }
}
