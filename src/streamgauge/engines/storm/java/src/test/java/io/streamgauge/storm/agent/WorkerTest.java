package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.policy.IWaitStrategy.WaitSituation;
import org.junit.jupiter.api.Test;

class WorkerTest {
    private static final String QUEUE = "storm.worker.words-1-1.n1.split.2.6700-receive-queue-";

    private final Map<String, Object> conf = Contexts.conf();
    private final MetricRegistry registry = new MetricRegistry();
    private final Agent agent = Agent.install(registry, conf, Map.of());

    private void joined() {
        new AgentHook().prepare(conf, Contexts.of(2, conf, new HashMap<>()));
    }

    private List<String> engine() {
        EngineMetrics engine = new EngineMetrics(registry, agent.worker(), 20);
        engine.find();
        engine.read();
        engine.read();
        Bucket bucket = new Bucket(null, "words", null, 0, 10.0, true);
        engine.write(bucket);
        return bucket.lines();
    }

    @Test
    void countersOfTheEngineRestOnOneTupleInTwenty() {
        joined();
        registry.counter("storm.worker.words-1-1.n1.split.default.2.6700-__emit-count-default")
            .inc(400);
        registry.counter("storm.worker.words-1-1.n1.split.default.2.6700-"
            + "__execute-count-lines:default").inc(60);
        String lines = String.join("", engine());
        assertTrue(lines.contains("\"metrics\":[\"emitted_total\"],\"stream\":\"default\","
            + "\"bucket_start_us\":0,\"bucket_seconds\":10,\"values\":[400],\"counts\":[20]}"));
        assertTrue(lines.contains("\"metrics\":[\"executed_total\"],\"stream\":\"default\","
            + "\"source_component\":\"lines\",\"bucket_start_us\":0,\"bucket_seconds\":10,"
            + "\"values\":[60],\"counts\":[3]}"));
    }

    @Test
    void aFullQueueHoldsItsSendersBack() {
        joined();
        int[] lengths = {32, 20};
        int[] reading = {0};
        registry.register(QUEUE + "population", (Gauge<Integer>) () -> lengths[reading[0]++]);
        registry.register(QUEUE + "capacity", (Gauge<Integer>) () -> 32);
        String lines = String.join("", Lines.oneByOne(engine()));
        assertTrue(lines.contains("\"metric\":\"queue_population\",\"bucket_start_us\":0,"
            + "\"bucket_seconds\":10,\"value\":26,\"count\":2"));
        assertTrue(lines.contains("\"metric\":\"backpressure_caused\",\"bucket_start_us\":0,"
            + "\"bucket_seconds\":10,\"value\":5000000000,\"count\":1"));
    }

    @Test
    void waitsAreThoseOfTheStrategyThatWasAskedFor() throws InterruptedException {
        assertEquals(WatchedWait.class.getName(), conf.get(Config.TOPOLOGY_BOLT_WAIT_STRATEGY));
        WatchedWait wait = new WatchedWait();
        wait.prepare(conf, WaitSituation.BOLT_WAIT);
        assertEquals(1, wait.idle(0));
        assertEquals("org.apache.storm.policy.WaitStrategyProgressive",
            WatchedWait.original(conf, Config.TOPOLOGY_BOLT_WAIT_STRATEGY));
    }

    @Test
    void waitsOfAnExecutorsThreadAreItsIdleTime() throws InterruptedException {
        joined();
        WatchedWait wait = new WatchedWait();
        wait.prepare(conf, WaitSituation.BOLT_WAIT);
        long[] begun = {0, 0};
        Thread thread = new Thread(() -> {
            try {
                begun[0] = System.nanoTime();
                wait.idle(10_000);
                wait.idle(10_001);
                begun[1] = System.nanoTime();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }, "Thread-3-split-executor[2, 2]");
        thread.start();
        thread.join();
        // Progressive waiting ends in sleeps of a millisecond.
        long idle = agent.task(2).executor.idle.take();
        assertTrue(idle >= 2_000_000 && idle <= begun[1] - begun[0]);
    }

    @Test
    void aWrongSettingHasItsDefaultAndIsTold() {
        List<String> notes = new ArrayList<>();
        Settings settings = Settings.of(
            Map.of("streamgauge.agent.bucket.seconds", "soon", "streamgauge.agent.dir", "x"),
            Map.of("streamgauge.agent.dir", "y", "streamgauge.agent.ping", "a, b:22"), notes);
        assertEquals(10.0, settings.bucketSeconds());
        assertEquals(Path.of("y"), settings.folder());
        assertEquals(List.of("a", "b:22"), settings.ping());
        assertEquals(1, notes.size());
    }

    @Test
    void aPlansIdFollowsFromItsPlacesAlone() {
        Plans.Placed one = new Plans.Placed("split", 2, 3, "n1", 6700);
        String id = Plans.idOf(List.of(one));
        // The first digits of: printf 'split[2-3] n1:6700\n' | sha256sum
        assertEquals("59747d96aa85", id);
        assertFalse(id.equals(Plans.idOf(List.of(new Plans.Placed("split", 2, 3, "n1", 6701)))));
    }

    @Test
    void aTopologyBecomesAJobFile() {
        List<Plans.Placed> plan = List.of(
            new Plans.Placed("lines", 1, 1, "n1", 6700),
            new Plans.Placed("split", 2, 3, "n1", 6700),
            new Plans.Placed("counter", 4, 4, "n2", 6700));
        conf.put("streamgauge.slo.juice", 0.9);
        conf.put("password", "of the user's own");
        String text = JobDocument.of(Contexts.of(2, conf, new HashMap<>()), conf, plan);
        JsonObject topology = JsonParser.parseString(text).getAsJsonObject()
            .getAsJsonObject("topology");
        JsonObject configuration = JsonParser.parseString(text).getAsJsonObject()
            .getAsJsonObject("configuration");
        assertEquals("{\"lines\":{\"kind\":\"source\",\"tasks\":1},"
            + "\"counter\":{\"tasks\":1,\"window\":{\"length_seconds\":10.0}},"
            + "\"split\":{\"tasks\":2}}", topology.get("operators").toString());
        assertEquals("[{\"from\":\"split\",\"to\":\"counter\",\"stream\":\"default\","
            + "\"grouping\":{\"fields\":[\"word\"]}},{\"from\":\"lines\",\"to\":\"split\","
            + "\"stream\":\"default\",\"grouping\":\"shuffle\"}]",
            topology.get("streams").toString());
        assertEquals("2", configuration.get("workers").toString());
        assertEquals("{\"streamgauge.slo.juice\":0.9,\"topology.max.spout.pending\":500}",
            configuration.get("settings").toString());
    }
}
