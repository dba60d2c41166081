package io.streamgauge.storm.topology;

/**
 * How near burning and waiting come to what they were asked for; run by hand on an idle machine.
 *
 * <p>Burning is judged by the thread's CPU clock and by the clock on the wall, waiting by the
 * latter.
 */
final class BurnBenchmark {
    private static final long[] BURNS = {2_000, 10_000, 50_000, 500_000, 5_000_000};
    private static final long[] WAITS = {20_000, 100_000, 500_000, 5_000_000, 20_000_000};
    private static final long SPENT_ON_EACH = 1_000_000_000L;

    private BurnBenchmark() {
    }

    public static void main(String[] arguments) {
        for (int round = 0; round < 2; round++) {
            // The first round is for the compiler.
            boolean shown = round == 1;
            for (long nanos : BURNS) {
                CpuBurner burner = new CpuBurner();
                measure("burn", nanos, () -> burner.burn(nanos), shown);
            }
            for (long nanos : WAITS) {
                Waiter waiter = new Waiter();
                measure("wait", nanos, () -> waiter.await(nanos), shown);
            }
        }
    }

    private static void measure(String what, long nanos, Runnable once, boolean shown) {
        int times = (int) Math.max(SPENT_ON_EACH / nanos / (shown ? 1 : 10), 10);
        long cpu = CpuBurner.clock();
        long wall = System.nanoTime();
        for (int count = 0; count < times; count++) {
            once.run();
        }
        double wallEach = (System.nanoTime() - wall) / (double) times;
        double cpuEach = (CpuBurner.clock() - cpu) / (double) times;
        if (shown) {
            System.out.printf("%s %8.3f ms: CPU %8.4f ms (%+.1f %%), wall %8.4f ms (%+.1f %%)%n",
                    what, nanos / 1e6, cpuEach / 1e6, 100.0 * (cpuEach / nanos - 1.0),
                    wallEach / 1e6, 100.0 * (wallEach / nanos - 1.0));
        }
    }
}
