package io.streamgauge.storm.calibration;

import com.google.gson.Gson;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How long an empty loop of so many cycles keeps a core busy, by the thread's own CPU clock.
 *
 * <p>All numbers of cycles are timed in every round, so that a core that changes its speed changes
 * it for all of them alike.
 */
public final class BusyWait {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int SHORT_CYCLES = 100;
    private static final int SHORT_CALLS = 50_000;
    private static final int LONG_CYCLES = 100_000;
    private static final int LONG_CALLS = 500;
    // The compiler cannot know it, and so cannot leave out a loop that does nothing else.
    private static volatile long step = 1;
    private static volatile long reached;

    private BusyWait() {
    }

    /** Arguments: rounds, CPU milliseconds of one batch of calls, and the numbers of cycles. */
    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        long batchNanos = 1_000_000L * Integer.parseInt(arguments[1]);
        List<Long> cycles = new ArrayList<>();
        for (int place = 2; place < arguments.length; place++) {
            cycles.add(Long.parseLong(arguments[place]));
        }
        System.out.println(new Gson().toJson(Map.of(
                "java", System.getProperty("java.version"),
                "timings", timings(cycles, rounds, batchNanos))));
    }

    /** Means of a call by round, in nanoseconds, for each number of cycles. */
    static List<Map<String, Object>> timings(List<Long> cycles, int rounds, long batchNanos) {
        double cycleNanos = warm();
        List<Map<String, Object>> timings = new ArrayList<>();
        for (long one : cycles) {
            Map<String, Object> timing = new LinkedHashMap<>();
            timing.put("cycles", one);
            timing.put("calls", (long) Math.max(batchNanos / (cycleNanos * one + 1.0), 1.0));
            timing.put("cpu_ns", new double[rounds]);
            timing.put("wall_ns", new double[rounds]);
            timings.add(timing);
        }
        for (int round = 0; round < rounds; round++) {
            for (Map<String, Object> timing : timings) {
                measure(timing, round);
            }
        }
        return timings;
    }

    private static void measure(Map<String, Object> timing, int round) {
        long calls = (long) timing.get("calls");
        long cycles = (long) timing.get("cycles");
        long wall = System.nanoTime();
        long cpu = THREADS.getCurrentThreadCpuTime();
        for (long call = 0; call < calls; call++) {
            reached = turn(cycles);
        }
        ((double[]) timing.get("cpu_ns"))[round] =
                (THREADS.getCurrentThreadCpuTime() - cpu) / (double) calls;
        ((double[]) timing.get("wall_ns"))[round] = (System.nanoTime() - wall) / (double) calls;
    }

    /** Wait until the loop is compiled; gives its speed in about. */
    private static double warm() {
        for (int call = 0; call < SHORT_CALLS; call++) {
            reached = turn(SHORT_CYCLES);
        }
        long best = Long.MAX_VALUE;
        for (int call = 0; call < LONG_CALLS; call++) {
            long began = THREADS.getCurrentThreadCpuTime();
            reached = turn(LONG_CYCLES);
            best = Math.min(best, THREADS.getCurrentThreadCpuTime() - began);
        }
        return Math.max(best, 1L) / (double) LONG_CYCLES;
    }

    /** The loop: a step, a comparison and a jump for each cycle. */
    static long turn(long cycles) {
        long by = step;
        long count = 0;
        while (count < cycles) {
            count += by;
        }
        return count;
    }
}
