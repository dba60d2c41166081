package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcFilesTest {
    private static final long SECOND = 1_000_000_000;

    private static ProcFiles.Machine machine(String allowed, String core0, String core1, long nanos) {
        List<String> lines = List.of("cpu  9 9 9 9 9 9 9 9 9 9", core0, core1, "intr 1");
        List<String> status = List.of("Cpus_allowed:\t3", "Cpus_allowed_list:\t" + allowed);
        return ProcFiles.parseMachine(lines, ProcFiles.parseAllowed(status), nanos);
    }

    @Test
    void whatIsNotIdleIsBusyWhateverTheTicksSay() {
        // Thirty seconds of two cores in which ticks saw 24.7 s of work.
        ProcFiles.Machine before = machine(
            "0-1", "cpu0 8000 0 2000 32000 900 0 70 20 0 0",
            "cpu1 8773 0 2642 33574 7 0 68 6 0 0", 0);
        ProcFiles.Machine now = machine(
            "0-1", "cpu0 8847 0 2370 33200 901 0 90 25 0 0",
            "cpu1 9620 0 3012 34749 7 0 84 10 0 0", 30 * SECOND);
        assertEquals(2, now.cores());
        assertEquals(60.0 - 23.75 - 0.01 - 0.09, (now.busy() - before.busy()) / 1e9, 1e-9);
        assertEquals(0.09, (now.stolen() - before.stolen()) / 1e9, 1e-9);
    }

    @Test
    void coresThatTheProcessMayNotUseDoNotCount() {
        String idle = "cpu0 0 0 0 1000 0 0 0 0 0 0";
        String busy = "cpu1 1000 0 0 0 0 0 0 0 0 0";
        assertEquals(10 * SECOND, machine("1", idle, busy, 10 * SECOND).busy());
        assertEquals(0, machine("0", idle, busy, 10 * SECOND).busy());
        assertEquals(1, machine("1", idle, busy, 10 * SECOND).cores());
    }

    @Test
    void rangesAndSingleCoresAreAllowed() {
        assertEquals(
            "{0, 1, 2, 5, 8, 9}",
            ProcFiles.parseAllowed(List.of("Cpus_allowed_list:\t0-2,5,8-9")).toString());
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
