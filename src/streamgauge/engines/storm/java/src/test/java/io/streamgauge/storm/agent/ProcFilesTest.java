package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcFilesTest {
    private static final long SECOND = 1_000_000_000;

    private static ProcFiles.Machine machine(String sums, long nanos) {
        return ProcFiles.parseMachine(
            List.of(sums, "cpu0 1 2 3 4 5 6 7 8 0 0", "cpu1 1 2 3 4 5 6 7 8 0 0", "intr 1"), nanos);
    }

    @Test
    void whatIsNotIdleIsBusyWhateverTheTicksSay() {
        // Thirty seconds of two cores in which ticks saw 24.7 s of work.
        ProcFiles.Machine before = machine("cpu  16773 0 4642 65574 907 0 138 26 0 0", 0);
        ProcFiles.Machine now = machine("cpu  18467 0 5382 67949 908 0 174 35 0 0", 30 * SECOND);
        assertEquals(2, now.cores());
        assertEquals(60.0 - 23.75 - 0.01 - 0.09, (now.busy() - before.busy()) / 1e9, 1e-9);
        assertEquals(0.09, (now.stolen() - before.stolen()) / 1e9, 1e-9);
    }

    @Test
    void aThreadThatBurnsIsSeen() {
        ProcFiles.Machine before = ProcFiles.machine();
        assertNotNull(before);
        long end = System.nanoTime() + SECOND / 2;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        long busy = ProcFiles.machine().busy() - before.busy();
        assertTrue(busy > 0.4 * SECOND, () -> "only " + busy);
        assertTrue(busy < 1.1 * before.cores() * SECOND, () -> "as much as " + busy);
    }
}
