package io.streamgauge.storm.topology;

import java.util.random.RandomGenerator;

/** Spends the service times of one thread: CPU time first, then waiting. */
final class Server {
    private static final double NANOS_PER_MILLI = 1e6;

    private final CpuBurner burner = new CpuBurner();
    private final Waiter waiter = new Waiter();
    private final RandomGenerator random;
    private final double relative;

    /** Draws from those numbers, for a task that takes so many times as long as others. */
    Server(RandomGenerator random, double relative) {
        this.random = random;
        this.relative = relative;
    }

    void spend(Program.Service service) {
        spend(service, 0.0);
    }

    /** As told, and so many milliseconds of CPU time more. */
    void spend(Program.Service service, double moreCpuMs) {
        double cpuMs = relative * service.cpuMs().draw(random) + moreCpuMs;
        double waitMs = relative * service.waitMs().draw(random);
        if (cpuMs > 0.0) {
            burner.burn((long) (cpuMs * NANOS_PER_MILLI));
        }
        if (waitMs > 0.0) {
            waiter.await((long) (waitMs * NANOS_PER_MILLI));
        }
    }
}
