package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AgentHookTest {
    private final Map<String, Object> conf = Contexts.conf();
    private Agent agent;

    @BeforeEach
    void installed() {
        agent = Agent.install(new MetricRegistry(), conf, Map.of());
    }

    private AgentHook hook(TopologyContext context) {
        AgentHook hook = new AgentHook();
        hook.prepare(conf, context);
        return hook;
    }

    private TopologyContext context(int task) {
        return Contexts.of(task, conf, new HashMap<>());
    }

    private List<String> written() {
        Bucket bucket = new Bucket(null, "words", null, 0, 10.0, true);
        new TaskSamples(agent.worker(), true).write(bucket);
        return Lines.oneByOne(bucket.lines());
    }

    /** The `"value":…,"count":…` of the one sample that has all the words. */
    private static String figures(List<String> lines, String... words) {
        List<String> found = lines.stream()
            .filter(line -> Arrays.stream(words).allMatch(line::contains)).toList();
        assertEquals(1, found.size(), () -> String.join("", lines));
        return found.get(0).replaceAll(".*(\"value\".*)}\n", "$1");
    }

    private static String metric(String name) {
        return "\"metric\":\"" + name + "\"";
    }

    @Test
    void everyEmitIsCountedByTheTasksItWentTo() {
        AgentHook hook = hook(context(1));
        hook.emit(new EmitInfo(new Values("a"), "default", 1, List.of(2, 3)));
        hook.emit(new EmitInfo(new Values("b"), "default", 1, List.of(3)));
        List<String> lines = written();
        assertEquals("\"value\":2,\"count\":2", figures(lines, metric("emitted")));
        assertEquals("\"value\":3,\"count\":3", figures(lines, metric("sent")));
        assertEquals("\"value\":1,\"count\":1", figures(lines, metric("transferred"),
            "\"component\":\"split\",\"task\":2", "\"source_task\":1"));
        assertEquals("\"value\":2,\"count\":2", figures(lines, metric("transferred"),
            "\"component\":\"split\",\"task\":3", "\"source_task\":1"));
    }

    @Test
    void sizesAreMeasuredTheRarerTheMoreAreKnown() {
        AgentHook hook = hook(context(1));
        for (int emit = 0; emit < 64 * 256 + 64 * 512; emit++) {
            hook.emit(new EmitInfo(new Values("a"), "default", 1, List.of(2)));
        }
        assertEquals(128, agent.task(1).output("default").bytes.take().count());
    }

    @Test
    void aDirectEmitThatNobodySubscribedToIsSentToNobody() {
        AgentHook hook = hook(context(1));
        hook.emit(new EmitInfo(new Values("a"), "default", 1, Arrays.asList((Integer) null)));
        List<String> lines = written();
        assertEquals("\"value\":1,\"count\":1", figures(lines, metric("emitted")));
        assertTrue(lines.stream().noneMatch(line -> line.contains(metric("sent"))));
    }

    @Test
    void allExecutionsAreCountedAndTheEngineTimesSomeOfThem() {
        TopologyContext context = context(2);
        AgentHook hook = hook(context);
        for (int tuple = 0; tuple < 40; tuple++) {
            TupleImpl one = new TupleImpl(context, new Values("a"), "lines", 1, "default");
            hook.boltExecute(new BoltExecuteInfo(one, 2, tuple % 20 == 7 ? 3L : -1L));
            hook.boltAck(new BoltAckInfo(one, 2, tuple % 20 == 9 ? 4L : -1L));
        }
        List<String> lines = written();
        assertEquals("\"value\":40,\"count\":40", figures(lines, metric("executed")));
        assertEquals("\"value\":40,\"count\":40", figures(lines, metric("acked")));
        assertEquals("\"value\":3,\"count\":2", figures(lines, metric("execute_latency_mean")));
        assertEquals(
            "\"value\":8000000,\"count\":2", figures(lines, metric("process_latency_sum")));
    }

    @Test
    void timesOfTheHookGiveWayToThoseOfTheComponent() {
        TopologyContext context = context(2);
        AgentHook hook = hook(context);
        agent.task(2).executor.waited(0, System.nanoTime());
        Recorder recorder = Recorder.of(context);
        recorder.executed("lines", "default", 500, 400);
        TupleImpl one = new TupleImpl(context, new Values("a"), "lines", 1, "default");
        hook.boltExecute(new BoltExecuteInfo(one, 2, -1L));
        List<String> lines = written();
        assertEquals("\"value\":500,\"count\":1", figures(lines, metric("execute_latency_sum")));
        assertEquals("\"value\":400,\"count\":1", figures(lines, metric("execute_cpu_sum")));
        assertEquals("\"value\":1,\"count\":1", figures(lines, metric("executed")));
    }

    @Test
    void rootsArePendingFromTheirInitToTheirAck() {
        AgentHook hook = hook(context(1));
        for (long root = 0; root < 5; root++) {
            hook.emit(new EmitInfo(new Values(root), "__ack_init", 1, List.of()));
        }
        hook.spoutAck(new SpoutAckInfo("m", 1, null));
        hook.spoutAck(new SpoutAckInfo("m", 1, 12L));
        List<String> lines = written();
        assertEquals("\"value\":3,\"count\":1", figures(lines, metric("roots_pending")));
        assertEquals("\"value\":2,\"count\":2", figures(lines, metric("roots_acked")));
        assertEquals(
            "\"value\":12000000,\"count\":1", figures(lines, metric("complete_latency_sum")));
    }

    @Test
    void tasksOfOneExecutorAreNamedTogether() {
        Map<String, Object> shared = new HashMap<>();
        hook(Contexts.of(2, conf, shared));
        AgentHook hook = hook(Contexts.of(3, conf, shared));
        hook.emit(new EmitInfo(new Values("a"), "default", 3, List.of(4)));
        figures(written(), metric("emitted"), "\"task\":3,\"executor\":\"split[2-3]\"");
    }

    @Test
    void sizesAreThoseOfSerialisedTuples() {
        AgentHook hook = hook(context(1));
        for (int tuple = 0; tuple < 300; tuple++) {
            hook.emit(new EmitInfo(new Values("word"), "default", 1, List.of(2)));
        }
        // Task, stream, no anchors, one value: its class and four letters.
        String figures = figures(written(), metric("emitted_bytes"));
        assertTrue(figures.endsWith("\"count\":2"), figures);
    }

    @Test
    void aHookWithoutAReporterDoesNothing() {
        AgentHook hook = new AgentHook();
        hook.prepare(Contexts.conf(), context(1));
        hook.emit(new EmitInfo(new Values("a"), "default", 1, List.of(2)));
        assertTrue(agent.worker().tasks().isEmpty());
    }
}
