package io.streamgauge.storm.calibration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BusyWaitTest {
    @Test
    void theLoopHasTheCyclesItWasAskedFor() {
        assertEquals(0, BusyWait.turn(0));
        assertEquals(123_456, BusyWait.turn(123_456));
    }

    @Test
    void aHundredTimesTheCyclesTakeSomeHundredTimesTheCpuTime() {
        List<Map<String, Object>> timings =
                BusyWait.timings(List.of(10_000L, 1_000_000L), 5, 5_000_000);
        double few = least(timings.get(0));
        double many = least(timings.get(1));
        assertTrue(many > 50 * few, "the compiler left the loop out: " + few + " and " + many);
        assertTrue(many < 200 * few, few + " and " + many);
    }

    @Test
    void everyRoundIsToldForEveryNumberOfCycles() {
        for (Map<String, Object> timing : BusyWait.timings(List.of(0L, 1_000L), 3, 100_000)) {
            assertEquals(3, ((double[]) timing.get("cpu_ns")).length);
            assertEquals(3, ((double[]) timing.get("wall_ns")).length);
            assertTrue((long) timing.get("calls") >= 1);
        }
    }

    private static double least(Map<String, Object> timing) {
        double least = Double.MAX_VALUE;
        for (double one : (double[]) timing.get("cpu_ns")) {
            least = Math.min(least, one);
        }
        return least;
    }
}
