package io.streamgauge.storm.topology;

import static io.streamgauge.storm.topology.Programs.bolt;
import static io.streamgauge.storm.topology.Programs.output;
import static io.streamgauge.storm.topology.Programs.poisson;
import static io.streamgauge.storm.topology.Programs.program;
import static io.streamgauge.storm.topology.Programs.shuffled;
import static io.streamgauge.storm.topology.Programs.window;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.tuple.Tuple;
import org.junit.jupiter.api.Test;

class BoltsTest {
    private static final String OUT = "{\"name\": \"out\"}";
    private static final String TWO = output("out", "2", "1");

    private Task task;

    /** The first task of a bolt, ready to run. */
    private IRichBolt prepared(boolean acked, String bolt) {
        String json = program(acked, poisson("in") + ", " + poisson("also"), bolt);
        task = new Task(json, "work", Map.of());
        Program parsed = Program.parse(json);
        IRichBolt made = ProgramTopology.make(parsed.shared(), parsed.bolts().get(0));
        Map<String, Object> own = made.getComponentConfiguration();
        task.configuration().putAll(own == null ? Map.of() : own);
        made.prepare(task.configuration(), task.context, task.collector());
        return made;
    }

    private static List<Long> due(byte[] roots) {
        List<Long> times = new ArrayList<>();
        Roots.visit(roots, (source, clock, due, emitted) -> times.add(due));
        return times;
    }

    @Test
    void outputsAreAnchoredToTheirInputWhichIsAcked() {
        IRichBolt work = prepared(true, bolt("work", shuffled("in", TWO), OUT, ""));
        Tuple tuple = task.tuple("in", null, 7L);
        work.execute(tuple);
        assertEquals(2, task.sent.size());
        assertEquals(List.of(tuple), List.copyOf(task.sent.get(1).anchors()));
        assertEquals(List.of(7L), due(task.sent.get(1).roots()));
        assertEquals(List.of(tuple), task.acked);
    }

    @Test
    void nothingIsAnchoredWhereNobodyTracksTuples() {
        IRichBolt work = prepared(false, bolt("work", shuffled("in", TWO), OUT, ""));
        work.execute(task.tuple("in", null, 7L));
        assertNull(task.sent.get(0).anchors());
    }

    @Test
    void aFilterLetsItsPartPass() {
        String quarter = output("out", "0, 1", "0.75, 1");
        IRichBolt work = prepared(true, bolt("work", shuffled("in", quarter), OUT, ""));
        for (int count = 0; count < 4000; count++) {
            work.execute(task.tuple("in", null, count));
        }
        assertEquals(1000, task.sent.size(), 140);
    }

    @Test
    void ofAlternativesAtMostOneIsTaken() {
        String both = output("out", "0, 1", "0.4, 1") + ", " + output("alt", "0, 1", "0.7, 1");
        String made = bolt("work", shuffled("in", both), OUT + ", {\"name\": \"alt\"}", "")
                .replace("\"exclusive\": false", "\"exclusive\": true");
        IRichBolt work = prepared(true, made);
        for (int count = 0; count < 4000; count++) {
            work.execute(task.tuple("in", null, count));
            assertTrue(task.sent.size() <= count + 1);
        }
        long alt = task.sent.stream().filter(one -> one.stream().equals("alt")).count();
        assertEquals(1200, alt, 150);
        assertEquals(3600, task.sent.size(), 100);
    }

    @Test
    void aBoltThatFailsAllAcksNone() {
        String made = bolt("work", shuffled("in", ""), "", "")
                .replace("\"fails\": 0", "\"fails\": 1");
        IRichBolt work = prepared(true, made);
        work.execute(task.tuple("in", null, 7L));
        assertEquals(1, task.failed.size());
        assertEquals(0, task.acked.size());
    }

    @Test
    void keysBytesAndAddressesAreThoseOfTheStream() {
        String stream = "{\"name\": \"out\", \"bytes\": {\"kind\": \"constant\", \"value\": 200}, "
                + "\"direct_to\": \"in\", \"keys\": {\"count\": 1, \"naming\": \"listed\", "
                + "\"names\": [\"abc\"], \"sharing\": \"even\"}}";
        IRichBolt work = prepared(true, bolt("work", shuffled("in", TWO), stream, ""));
        work.execute(task.tuple("in", null, 7L));
        Task.Sent sent = task.sent.get(0);
        assertEquals("abc", sent.values().get(0));
        assertEquals(200, sent.payload() + "abc".length() + sent.roots().length);
        assertTrue(task.context.getComponentTasks("in").contains(sent.task()));
    }

    @Test
    void aTracedTupleIsAsLargeAsAnyOther() {
        String stream = "{\"name\": \"out\", \"bytes\": {\"kind\": \"constant\", \"value\": 200}}";
        IRichBolt work = prepared(true, bolt("work", shuffled("in", TWO), stream, ""));
        Trail trail = new Trail(7L, 0, List.of(new Trail.Hop("in", 3, "", "", 1L, 2L, 3L)));
        work.execute(task.tuple("in", null, 7L, trail));
        Task.Sent sent = task.sent.get(0);
        assertEquals(200, sent.payload() + sent.roots().length + sent.trail().bytes().length);
    }

    @Test
    void aJoinEmitsOnceEveryInputHasBroughtTheKey() {
        String inputs = shuffled("in", TWO) + ", " + shuffled("also", TWO);
        IRichBolt work = prepared(
                true, bolt("work", inputs, OUT, ", \"join_within_seconds\": 3600"));
        work.execute(task.tuple("in", "k", 1L));
        work.execute(task.tuple("also", "other", 2L));
        assertEquals(0, task.sent.size() + task.acked.size());
        work.execute(task.tuple("also", "k", 3L));
        assertEquals(2, task.sent.size());
        assertEquals(List.of(1L, 3L), due(task.sent.get(0).roots()));
        assertEquals(2, task.sent.get(0).anchors().size());
        assertEquals(2, task.acked.size());
    }

    @Test
    void aTumblingWindowsTuplesAreAckedAtTheNextTrigger() {
        String extent = "\"length_tuples\": 3, \"slide_tuples\": 3";
        IRichBolt work = prepared(true, bolt("work", shuffled("in", ""), OUT,
                window(extent, output("out", "1", "1"))));
        for (long due = 1; due <= 3; due++) {
            work.execute(task.tuple("in", null, due));
        }
        assertEquals(List.of(1L, 2L, 3L), due(task.sent.get(0).roots()));
        assertEquals(3, task.sent.get(0).anchors().size());
        assertEquals(0, task.acked.size());
        for (long due = 4; due <= 6; due++) {
            work.execute(task.tuple("in", null, due));
        }
        assertEquals(3, task.acked.size());
        work.cleanup();
    }

    @Test
    void aTraceGoesOnFromTheFirstTracedTupleOfAWindow() {
        String extent = "\"length_tuples\": 2, \"slide_tuples\": 2";
        IRichBolt work = prepared(true, bolt("work", shuffled("in", ""), OUT,
                window(extent, output("out", "1", "1"))));
        Trail trail = new Trail(9L, 0, List.of(new Trail.Hop("in", 1, "", "", 5L, 6L, 7L)));
        work.execute(task.tuple("in", null, 1L));
        work.execute(task.tuple("in", null, 2L, trail));
        Trail after = task.sent.get(0).trail();
        assertEquals(9L, after.root());
        assertEquals("work", after.hops().get(1).component());
        work.cleanup();
    }

    @Test
    void tuplesThatAWindowFailsFailWhenTheyLeaveIt() {
        String extent = "\"length_tuples\": 2, \"slide_tuples\": 2";
        String made = bolt("work", shuffled("in", ""), OUT, window(extent, ""))
                .replace("\"fails\": 0", "\"fails\": 1");
        IRichBolt work = prepared(true, made);
        for (long due = 1; due <= 4; due++) {
            work.execute(task.tuple("in", null, due));
        }
        assertEquals(2, task.failed.size());
        assertEquals(0, task.acked.size());
        work.cleanup();
    }

    @Test
    void theParityOfCountsChoosesTheStream() {
        String extent = "\"length_tuples\": 4, \"slide_tuples\": 4";
        String inputs = shuffled("in", "") + ", " + shuffled("also", "");
        IRichBolt work = prepared(true, bolt("work", inputs, OUT + ", {\"name\": \"alt\"}",
                window(extent, "")
                        + ", \"parity\": {\"equal\": \"out\", \"different\": \"alt\"}"));
        for (String source : List.of("in", "in", "in", "also", "in", "in", "also", "also")) {
            work.execute(task.tuple(source, null, 0L));
        }
        assertEquals(List.of("out", "out"), task.sent.stream().map(Task.Sent::stream).toList());
        work.cleanup();
    }

    @Test
    void anOddCountBesideAnEvenOneIsDifferent() {
        String extent = "\"length_tuples\": 3, \"slide_tuples\": 3";
        String inputs = shuffled("in", "") + ", " + shuffled("also", "");
        IRichBolt work = prepared(true, bolt("work", inputs, OUT + ", {\"name\": \"alt\"}",
                window(extent, "")
                        + ", \"parity\": {\"equal\": \"out\", \"different\": \"alt\"}"));
        for (String source : List.of("in", "in", "also")) {
            work.execute(task.tuple(source, null, 0L));
        }
        assertEquals("alt", task.sent.get(0).stream());
        work.cleanup();
    }

    @Test
    void aTracedTupleLeavesItsHopsWithTheTuplesThatFollow() {
        IRichBolt work = prepared(true, bolt("work", shuffled("in", TWO), OUT, ""));
        Trail trail = new Trail(9L, 0, List.of(new Trail.Hop("in", 1, "", "", 5L, 6L, 7L)));
        work.execute(task.tuple("in", "k", 7L, trail));
        Trail first = task.sent.get(0).trail();
        assertEquals(List.of("in", "work"), first.hops().stream()
                .map(Trail.Hop::component).toList());
        assertEquals("k", first.hops().get(1).key());
        assertEquals(0, first.number());
        assertNotEquals(0, task.sent.get(1).trail().number());
    }
}
