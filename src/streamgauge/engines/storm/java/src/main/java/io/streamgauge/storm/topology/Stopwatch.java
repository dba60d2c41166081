package io.streamgauge.storm.topology;

/**
 * Times executions by the clock, and on a core where that is cheap beside them.
 *
 * <p>Reading the thread's CPU clock twice takes about a microsecond. Whether it is read must not
 * depend on the time at hand, or short ones would be missing from the mean: it is read always where
 * the mean is long, else for one execution in {@link #SAMPLING}.
 */
final class Stopwatch {
    static final int SAMPLING = 16;
    private static final double LONG_MS = 0.05;
    static final long UNKNOWN = -1;

    private final boolean always;
    private int turn;
    private long beganWall;
    private long beganCpu;

    Stopwatch(double meanCpuMs) {
        this.always = meanCpuMs >= LONG_MS;
    }

    void start() {
        turn = (turn + 1) % SAMPLING;
        beganCpu = always || turn == 0 ? CpuBurner.clock() : UNKNOWN;
        beganWall = System.nanoTime();
    }

    long wallNanos() {
        return System.nanoTime() - beganWall;
    }

    /** CPU time since the start, or {@link #UNKNOWN}. */
    long cpuNanos() {
        return beganCpu == UNKNOWN ? UNKNOWN : CpuBurner.clock() - beganCpu;
    }
}
