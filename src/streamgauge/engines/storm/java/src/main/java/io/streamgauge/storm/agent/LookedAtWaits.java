package io.streamgauge.storm.agent;

import java.util.concurrent.ThreadLocalRandom;

/**
 * What the waits of one executor's thread cost, from those that are looked at.
 *
 * <p>A thread without tuples wakes up a thousand times a second, or polls. Reading its accounts
 * each time would cost as much again, so about one wait in 64 is looked at, and stands for all
 * since the last that was.
 */
final class LookedAtWaits {
    private static final int ONE_IN = 64;

    private final Count lookedAt = new Count();
    private final Count cpu = new Count();
    private final Count runDelay = new Count();
    // Touched by the executor's own thread alone.
    private int standsFor = 1;
    private int untilLook = 1;
    private long cpuBefore;
    private long delayBefore;

    /** Whether the wait that comes next, or has just begun, is looked at. */
    boolean isLooking() {
        return untilLook == 1;
    }

    /** The part of time begins that counts as the wait's, but for what reading the clock takes. */
    void begin(OwnThread thread) {
        delayBefore = thread.runDelayNanos();
        long first = OwnThread.cpuNanos();
        long second = OwnThread.cpuNanos();
        cpuBefore = second + (second - first);
    }

    /** A wait has ended. */
    void end(OwnThread thread) {
        if (isLooking()) {
            cpu.addAlone(standsFor * Math.max(OwnThread.cpuNanos() - cpuBefore, 0));
            lookedAt.addAlone(1);
            runDelay.addAlone(standsFor * (thread.runDelayNanos() - delayBefore));
            // By chance, as every so-manyth might always be the same kind of wait.
            standsFor = ThreadLocalRandom.current().nextInt(1, 2 * ONE_IN);
            untilLook = standsFor + 1;
        }
        untilLook--;
        if (isLooking()) {
            begin(thread);
        }
    }

    /** Writes what all waits since the last call have cost. */
    void write(Bucket bucket, Subject who, boolean delaysAreKnown) {
        long looks = lookedAt.take();
        long spent = cpu.take();
        long delayed = runDelay.take();
        if (looks > 0) {
            bucket.sample(who, "executor_idle_cpu", Keys.NONE, spent, looks);
        }
        if (looks > 0 && delaysAreKnown) {
            bucket.sample(who, "executor_idle_run_delay", Keys.NONE, delayed, looks);
        }
    }
}
