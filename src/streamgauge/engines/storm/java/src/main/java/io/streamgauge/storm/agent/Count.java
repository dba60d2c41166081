package io.streamgauge.storm.agent;

import java.util.concurrent.atomic.LongAdder;

/** A sum that any thread adds to, and that the agent's thread takes the growth of. */
final class Count {
    private final LongAdder total = new LongAdder();
    private long taken;

    void add(long amount) {
        total.add(amount);
    }

    /** What was added since the last call; by the agent's thread only. */
    long take() {
        long now = total.sum();
        long grown = now - taken;
        taken = now;
        return grown;
    }

    /** Everything that was ever added. */
    long total() {
        return total.sum();
    }
}
