package io.streamgauge.storm.agent;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.Utils;

/** A small topology and the contexts of its tasks: lines 1, split 2 and 3, counter 4. */
final class Contexts {
    static final Map<Integer, String> TASKS =
        Map.of(1, "lines", 2, "split", 3, "split", 4, "counter");

    private Contexts() {
    }

    static StormTopology topology() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("lines", new Lines());
        builder.setBolt("split", new Words(), 1).setNumTasks(2).shuffleGrouping("lines");
        builder.setBolt("counter", new Words())
            .fieldsGrouping("split", new Fields("word"))
            .addConfiguration("topology.bolts.window.length.duration.ms", 10_000);
        return builder.createTopology();
    }

    static Map<String, Object> conf() {
        Map<String, Object> conf = Utils.readDefaultConfig();
        conf.put("topology.name", "words");
        conf.put("storm.id", "words-1-1");
        conf.put("topology.max.spout.pending", 500);
        conf.put("secret.of.a.user", "x");
        return conf;
    }

    /** The context of a task; tasks with the same `shared` are of one executor. */
    static TopologyContext of(int task, Map<String, Object> conf, Map<String, Object> shared) {
        Fields words = new Fields("word");
        return new TopologyContext(
            topology(), conf, TASKS,
            Map.of("lines", List.of(1), "split", List.of(2, 3), "counter", List.of(4)),
            Map.of("lines", Map.of("default", words), "split", Map.of("default", words),
                "counter", Map.of("default", words)),
            new HashMap<>(), "words-1-1", null, null, task, 6700, List.of(1, 2, 3, 4),
            new HashMap<>(), new HashMap<>(), shared, new HashMap<>(), new AtomicBoolean(),
            new StormMetricRegistry());
    }

    static final class Lines extends BaseRichSpout {
        private static final long serialVersionUID = 1;

        @Override
        public void open(
            Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
        }

        @Override
        public void nextTuple() {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    static final class Words extends BaseBasicBolt {
        private static final long serialVersionUID = 1;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector out) {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }
}
