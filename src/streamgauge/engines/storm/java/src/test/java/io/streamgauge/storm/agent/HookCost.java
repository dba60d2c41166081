package io.streamgauge.storm.agent;

import com.codahale.metrics.MetricRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;

/** Nanoseconds of a call of the hook; a program, not a test. */
final class HookCost {
    private static final int CALLS = 5_000_000;
    private static final int ROUNDS = 7;

    private HookCost() {
    }

    public static void main(String[] none) {
        Map<String, Object> conf = Contexts.conf();
        Agent agent = Agent.install(new MetricRegistry(), conf, Map.of());
        TopologyContext context = Contexts.of(2, conf, new HashMap<>());
        AgentHook hook = new AgentHook();
        hook.prepare(conf, context);
        agent.task(2).executor.waited(0, System.nanoTime());
        TupleImpl tuple = new TupleImpl(context, new Values("word"), "lines", 1, "default");
        List<Object> values = new Values("word");
        List<Integer> targets = List.of(4);
        measure("emit", call -> hook.emit(new EmitInfo(values, "default", 2, targets)));
        measure("execute", call ->
            hook.boltExecute(new BoltExecuteInfo(tuple, 2, call % 20 == 0 ? 1L : -1L)));
        measure("ack", call ->
            hook.boltAck(new BoltAckInfo(tuple, 2, call % 20 == 0 ? 1L : -1L)));
    }

    private static void measure(String name, LongConsumer call) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long begun = System.nanoTime();
            for (long number = 0; number < CALLS; number++) {
                call.accept(number);
            }
            best = Math.min(best, (System.nanoTime() - begun) / (double) CALLS);
        }
        System.out.printf("%s: %.0f ns%n", name, best);
    }
}
