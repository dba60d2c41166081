package io.streamgauge.storm.topology;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Burns CPU time of the thread that asks.
 *
 * <p>A loop of known speed does the work in parts, and the thread's own CPU clock says after each
 * what is left, so that neither other threads nor a core that changes its speed make a service
 * longer or shorter than it was to be. The last part, and times below {@link #CLOCKED_NANOS}, are
 * left to the loop alone, as reading that clock takes half a microsecond itself.
 */
final class CpuBurner {
    static final long CLOCKED_NANOS = 5_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final double PART = 0.6;
    private static final double LONGEST_PART_NANOS = 50_000;
    private static final double LAST_PART_NANOS = 2_000;
    private static final double LEARNING = 0.05;

    private double turnsPerNano = Speed.TURNS_PER_NANO;
    private long state = 0x9E3779B97F4A7C15L;

    /** CPU time of the calling thread so far. */
    static long clock() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Use up so many nanoseconds of CPU time. */
    void burn(long nanos) {
        double left = nanos;
        if (nanos >= CLOCKED_NANOS) {
            long last = clock();
            left -= Speed.READING_NANOS;
            while (left > LAST_PART_NANOS) {
                int turns = turnsFor(Math.min(PART * left, LONGEST_PART_NANOS));
                turn(turns);
                long now = clock();
                learn(turns, now - last - Speed.READING_NANOS);
                left -= now - last;
                last = now;
            }
        }
        turn(turnsFor(left));
    }

    /** What the loop has come to, so that it cannot be left out. */
    long state() {
        return state;
    }

    private int turnsFor(double nanos) {
        return (int) (nanos * turnsPerNano);
    }

    /** The core may be faster or slower than when the loop was timed: follow. */
    private void learn(int turns, double nanos) {
        if (nanos > 0.0) {
            turnsPerNano += LEARNING * (turns / nanos - turnsPerNano);
        }
    }

    /** Each turn needs the result of the last, so that the compiler cannot do them at once. */
    private void turn(int turns) {
        long mixed = state;
        for (int count = 0; count < turns; count++) {
            mixed ^= mixed << 13;
            mixed ^= mixed >>> 7;
            mixed ^= mixed << 17;
        }
        state = mixed;
    }

    CpuBurner() {
    }

    private CpuBurner(double turnsPerNano) {
        this.turnsPerNano = turnsPerNano;
    }

    /**
     * The speed of the loop and of the clock, taken once in a process, when both are compiled. The
     * first rounds are not, and any may be disturbed: the fastest counts.
     */
    private static final class Speed {
        private static final int ROUNDS = 300;
        private static final int TURNS = 20_000;
        static final double READING_NANOS = reading();
        static final double TURNS_PER_NANO = turning();

        private static double reading() {
            long least = Long.MAX_VALUE;
            for (int round = 0; round < ROUNDS * 10; round++) {
                long began = clock();
                least = Math.min(least, clock() - began);
            }
            return least;
        }

        private static double turning() {
            CpuBurner burner = new CpuBurner(1.0);
            double best = 0.0;
            for (int round = 0; round < ROUNDS; round++) {
                long began = clock();
                burner.turn(TURNS);
                double taken = clock() - began - READING_NANOS;
                best = Math.max(best, TURNS / Math.max(taken, 1.0));
            }
            return best;
        }
    }
}
