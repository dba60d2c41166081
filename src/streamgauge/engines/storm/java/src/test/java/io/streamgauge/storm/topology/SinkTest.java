package io.streamgauge.storm.topology;

import static io.streamgauge.storm.topology.Programs.bolt;
import static io.streamgauge.storm.topology.Programs.poisson;
import static io.streamgauge.storm.topology.Programs.program;
import static io.streamgauge.storm.topology.Programs.shuffled;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.streamgauge.storm.agent.InstalledAgent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

class SinkTest {
    private static final long SECOND = 1_000_000_000L;

    private final Map<String, Object> configuration = new HashMap<>(Utils.readDefaultConfig());
    private final InstalledAgent agent = new InstalledAgent(configuration);
    private final String json =
            program(true, poisson("in"), bolt("work", shuffled("in", ""), "", ""));
    private final Task task = new Task(json, "work", configuration);
    private final IRichBolt sink = prepared();

    private IRichBolt prepared() {
        agent.join(task.context);
        Program parsed = Program.parse(json);
        IRichBolt made = ProgramTopology.make(parsed.shared(), parsed.bolts().get(0));
        made.prepare(task.configuration(), task.context, task.collector());
        return made;
    }

    /** The sum of latencies of one tuple; fails if there is not exactly one. */
    private static long sum(List<String> lines, String metric) {
        List<JsonObject> found = lines.stream()
                .map(line -> JsonParser.parseString(line).getAsJsonObject())
                .filter(line -> line.get("metric").getAsString().equals(metric + "_sum")).toList();
        assertEquals(1, found.size());
        assertEquals("in", found.get(0).get("source_component").getAsString());
        assertEquals(1, found.get(0).get("count").getAsLong());
        return found.get(0).get("value").getAsLong();
    }

    @Test
    void latencyIsWrittenSinceEmissionAndSinceDue() {
        long emitted = Clock.now() - 2 * SECOND;
        sink.execute(task.tuple("in", null,
                Roots.one(0, Clock.identity(), emitted - SECOND, emitted), null));
        List<String> lines = agent.samples();
        long sinceEmission = sum(lines, "end_to_end_latency");
        assertTrue(sinceEmission >= 2 * SECOND);
        assertEquals(sinceEmission + SECOND, sum(lines, "since_due_latency"));
    }

    @Test
    void whatWasNeverDueHasLatencySinceEmissionOnly() {
        sink.execute(task.tuple("in", null,
                Roots.one(0, Clock.identity(), Roots.NEVER_DUE, Clock.now() - SECOND), null));
        List<String> lines = agent.samples();
        assertTrue(sum(lines, "end_to_end_latency") >= SECOND);
        assertTrue(lines.stream().noneMatch(line -> line.contains("since_due_latency")));
    }

    @Test
    void theDifferenceOfTwoClocksIsNoLatency() {
        sink.execute(task.tuple("in", null,
                Roots.one(0, Clock.identity() + 1, Clock.now(), Clock.now()), null));
        List<String> lines = agent.samples();
        assertTrue(lines.stream().noneMatch(line -> line.contains("end_to_end_latency")));
        assertTrue(lines.stream().noneMatch(line -> line.contains("since_due_latency")));
    }
}
