package io.streamgauge.storm.topology;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Burns CPU time of the thread that asks.
 *
 * <p>A loop of known speed does most of it, and the thread's own CPU clock says what is left, so that
 * neither other threads nor a core that changes its speed make a service longer or shorter than it
 * was to be. Reading that clock takes half a microsecond, so times below {@link #CLOCKED_NANOS} are
 * left to the loop alone.
 */
final class CpuBurner {
    static final long CLOCKED_NANOS = 20_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int CALIBRATION_TURNS = 100_000;
    private static final int CALIBRATIONS = 200;
    // A first look a little before the end; what is left then is too short to go wrong.
    private static final double FIRST_PART = 0.9;
    private static final long CLOSE_ENOUGH_NANOS = 300;
    private static final int MOST_TURNS = 1 << 22;

    private double turnsPerNano = Speed.TURNS_PER_NANO;
    private long state = 0x9E3779B97F4A7C15L;

    /** CPU time of the calling thread so far. */
    static long clock() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Use up so many nanoseconds of CPU time. */
    void burn(long nanos) {
        if (nanos < CLOCKED_NANOS) {
            turn((int) (nanos * turnsPerNano));
            return;
        }
        long began = clock();
        int turns = turnsFor(FIRST_PART * nanos);
        turn(turns);
        long now = clock();
        learn(turns, now - began);
        while (nanos - (now - began) > CLOSE_ENOUGH_NANOS) {
            turn(turnsFor(nanos - (now - began)));
            now = clock();
        }
    }

    /** What the loop has come to, so that it cannot be left out. */
    long state() {
        return state;
    }

    private int turnsFor(double nanos) {
        return (int) Math.min(nanos * turnsPerNano, MOST_TURNS);
    }

    /** The core may run faster or slower than when the loop was timed: follow slowly. */
    private void learn(int turns, long nanos) {
        if (nanos > 0) {
            turnsPerNano += 0.02 * ((double) turns / nanos - turnsPerNano);
        }
    }

    /** Each turn needs the result of the last, which keeps the compiler from doing them at once. */
    private void turn(int turns) {
        long mixed = state;
        for (int count = 0; count < turns; count++) {
            mixed ^= mixed << 13;
            mixed ^= mixed >>> 7;
            mixed ^= mixed << 17;
        }
        state = mixed;
    }

    /** The loop's speed, taken once in a process, when it is compiled. */
    private static final class Speed {
        static final double TURNS_PER_NANO = calibrate();

        private static double calibrate() {
            CpuBurner burner = new CpuBurner(1.0);
            double best = 0.0;
            for (int round = 0; round < CALIBRATIONS; round++) {
                long began = clock();
                burner.turn(CALIBRATION_TURNS);
                long taken = clock() - began;
                // The first rounds are interpreted, and any may be disturbed: the fastest counts.
                best = Math.max(best, CALIBRATION_TURNS / (double) Math.max(taken, 1));
            }
            return best;
        }
    }

    CpuBurner() {
    }

    private CpuBurner(double turnsPerNano) {
        this.turnsPerNano = turnsPerNano;
    }
}
