package io.streamgauge.storm.topology;

import java.util.concurrent.locks.LockSupport;

/**
 * Lets time pass without using a core.
 *
 * <p>A parked thread comes back late, by some 60 µs on Linux. So it is woken earlier by what it
 * was late lately, and the rest of the error is made good with the next wait: waits are right on
 * average, also those too short to park at all.
 */
final class Waiter {
    private static final double LEARNING = 0.05;
    // Beyond this somebody else had the core: that is the machine's doing and not to be made good.
    private static final long MOST_LATENESS = 200_000;

    private double usualLateness = 60_000.0;
    private double owed;

    void await(long nanos) {
        owed += nanos;
        if (owed <= usualLateness) {
            return;
        }
        long began = System.nanoTime();
        long planned = (long) (owed - usualLateness);
        long elapsed = 0;
        while (elapsed < planned && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(planned - elapsed);
            elapsed = System.nanoTime() - began;
        }
        long lateness = elapsed - planned;
        if (lateness < MOST_LATENESS) {
            usualLateness += LEARNING * (lateness - usualLateness);
            owed -= elapsed;
        } else {
            owed = 0.0;
        }
    }
}
