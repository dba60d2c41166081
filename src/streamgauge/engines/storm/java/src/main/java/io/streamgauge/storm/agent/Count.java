package io.streamgauge.storm.agent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A sum that any thread adds to, and that the agent's thread takes the growth of.
 *
 * <p>Nearly always one thread adds. At the rates of most executors what counts is how little
 * memory is touched, so it is one object and one atomic addition.
 */
final class Count {
    private static final VarHandle TOTAL;

    static {
        try {
            TOTAL = MethodHandles.lookup().findVarHandle(Count.class, "total", long.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    private volatile long total;
    private long taken;

    void add(long amount) {
        TOTAL.getAndAdd(this, amount);
    }

    /** The same where only one thread ever adds, which keeps nobody out and costs less. */
    void addAlone(long amount) {
        TOTAL.setOpaque(this, total + amount);
    }

    /** What was added since the last call; by the agent's thread only. */
    long take() {
        long now = total;
        long grown = now - taken;
        taken = now;
        return grown;
    }

    /** Everything that was ever added. */
    long total() {
        return total;
    }
}
