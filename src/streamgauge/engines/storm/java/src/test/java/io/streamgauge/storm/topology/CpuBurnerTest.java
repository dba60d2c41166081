package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CpuBurnerTest {
    @ParameterizedTest
    @ValueSource(longs = {50_000, 500_000, 5_000_000})
    void burningUsesTheCpuTimeItWasAskedFor(long nanos) {
        // By the thread's own clock, which other threads do not disturb.
        CpuBurner burner = new CpuBurner();
        int times = (int) (50_000_000 / nanos);
        long began = CpuBurner.clock();
        for (int count = 0; count < times; count++) {
            burner.burn(nanos);
        }
        double each = (CpuBurner.clock() - began) / (double) times;
        assertEquals(nanos, each, 0.25 * nanos);
    }

    @Test
    void theLoopComesToSomething() {
        CpuBurner burner = new CpuBurner();
        long before = burner.state();
        burner.burn(1_000);
        assertNotEquals(before, burner.state());
    }

    @Test
    void cpuTimeIsSampledWhateverTheTimeAtHandWhereServicesAreShort() {
        Stopwatch watch = new Stopwatch(0.001);
        int known = 0;
        for (int count = 0; count < 10 * Stopwatch.SAMPLING; count++) {
            watch.start();
            known += watch.cpuNanos() == Stopwatch.UNKNOWN ? 0 : 1;
            assertTrue(watch.wallNanos() >= 0);
        }
        assertEquals(10, known);
    }
}
