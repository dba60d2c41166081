package io.streamgauge.storm.topology;

import static io.streamgauge.storm.topology.Programs.program;
import static io.streamgauge.storm.topology.Programs.source;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PacedSpoutTest {
    // Far more than it can emit: it is always late.
    private static final String FAST = "\"shape\": \"regular\", \"per_second\": [1e6, 1e6]";

    private static final String UNLIMITED = "\"shape\": \"unlimited\"";

    private Task task;

    private PacedSpout opened(boolean acked, String source, Map<String, Object> configuration) {
        String json = program(acked, source, "");
        task = new Task(json, "in", configuration);
        Program parsed = Program.parse(json);
        PacedSpout spout = new PacedSpout(parsed.shared(), parsed.sources().get(0));
        spout.open(task.configuration(), task.context, task.spoutCollector());
        return spout;
    }

    private static void ask(PacedSpout spout, int times) {
        for (int count = 0; count < times; count++) {
            spout.nextTuple();
        }
    }

    private List<Long> due() {
        List<Long> times = new ArrayList<>();
        task.sent.forEach(one -> Roots.visit(
                one.roots(), (source, clock, due, emitted) -> {
                    assertTrue(due <= emitted);
                    times.add(due);
                }));
        return times;
    }

    @Test
    void lateTuplesKeepTheTimesAtWhichTheyWereDue() throws InterruptedException {
        PacedSpout spout = opened(true, source("in", "false", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 500);
        List<Long> due = due();
        assertEquals(500, due.size());
        for (int place = 1; place < due.size(); place++) {
            assertEquals(1000, due.get(place) - due.get(place - 1), 500);
        }
    }

    @Test
    void whatIsDueAndNotEmittedIsItsLag() throws InterruptedException {
        PacedSpout spout = opened(true, source("in", "false", FAST), Map.of());
        assertEquals(0.0, spout.lag());
        spout.activate();
        Thread.sleep(5);
        // A million a second.
        assertTrue(spout.lag() >= 4999.0);
        spout.deactivate();
        assertEquals(0.0, spout.lag());
    }

    @Test
    void aSourceWithoutAScheduleHasNoLag() {
        PacedSpout spout = opened(true, source("in", "false", UNLIMITED), Map.of());
        spout.activate();
        assertEquals(0.0, spout.lag());
    }

    @Test
    void idsAreGivenOnlyWhereTuplesAreTracked() throws InterruptedException {
        PacedSpout spout = opened(true, source("in", "false", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 1);
        assertNotNull(task.sent.get(0).id());
        spout = opened(false, source("in", "false", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 1);
        assertNull(task.sent.get(0).id());
    }

    @Test
    void anUnlimitedSourceEmitsWheneverItIsAsked() {
        PacedSpout spout = opened(true, source("in", "false", UNLIMITED), Map.of());
        ask(spout, 20);
        assertEquals(20, task.sent.size());
    }

    @Test
    void aRateOfZeroEmitsNothing() {
        String none = "\"shape\": \"poisson\", \"per_second\": [0, 10]";
        ask(opened(true, source("in", "false", none), Map.of()), 20);
        assertEquals(0, task.sent.size());
    }

    @Test
    void failedRootsAreEmittedAgainWithTheSameDueTimeIfTheSourceReplays()
            throws InterruptedException {
        PacedSpout spout = opened(true, source("in", "true", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 1);
        spout.fail(task.sent.get(0).id());
        ask(spout, 1);
        assertEquals(due().get(0), due().get(1));
        spout = opened(true, source("in", "false", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 1);
        spout.fail(task.sent.get(0).id());
        ask(spout, 1);
        assertTrue(due().get(0) < due().get(1));
    }

    @Test
    void theControlFilePausesAndResumes(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("control.json");
        Files.writeString(file, "{\"rate_factor\": 0}");
        PacedSpout spout = opened(true, source("in", "false", UNLIMITED),
                Map.of(RateControl.FILE, file.toString()));
        ask(spout, 20);
        assertEquals(0, task.sent.size());
        Files.writeString(file, "{\"rate_factor\": 2.5}");
        Files.setLastModifiedTime(file, FileTime.fromMillis(1));
        while (task.sent.isEmpty()) {
            spout.nextTuple();
            Thread.sleep(5);
        }
        assertEquals(1, task.sent.size());
    }

    @Test
    void aBrokenControlFileChangesNothing(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("control.json");
        Files.writeString(file, "{\"rate_fact");
        PacedSpout spout = opened(true, source("in", "false", UNLIMITED),
                Map.of(RateControl.FILE, file.toString()));
        ask(spout, 3);
        assertEquals(3, task.sent.size());
    }

    @Test
    void aTrailBeginsWithWhenTheTupleWasDue() throws InterruptedException {
        PacedSpout spout = opened(true, source("in", "false", FAST), Map.of());
        Thread.sleep(1);
        ask(spout, 1);
        Trail.Hop hop = task.sent.get(0).trail().hops().get(0);
        assertEquals("in", hop.component());
        assertEquals(due().get(0), hop.arrived());
        assertTrue(hop.arrived() <= hop.started() && hop.started() <= hop.finished());
    }

    @Test
    void tuplesOfASourceWithoutAScheduleWereNeverDue() {
        PacedSpout spout = opened(true, source("in", "false", UNLIMITED), Map.of());
        ask(spout, 2);
        assertEquals(List.of(Roots.NEVER_DUE, Roots.NEVER_DUE), due());
        Trail.Hop hop = task.sent.get(0).trail().hops().get(0);
        assertEquals(hop.started(), hop.arrived());
    }

    @Test
    void allTasksCountFromTheSubmissionOfTheTopology() {
        TimeZero zero = TimeZero.of("my-job-12-1700000000");
        assertEquals(1.5, zero.seconds(1_700_000_001_500_000_000L), 1e-9);
        assertEquals(1_700_000_001_500_000_000L, zero.nanos(1.5));
        assertEquals(Long.MAX_VALUE, zero.nanos(Double.POSITIVE_INFINITY));
        assertEquals(0, TimeZero.of("no-number").epochSecond());
    }
}
