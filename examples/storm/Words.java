import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * A word count that knows nothing of Streamgauge: plain Storm, one file.
 *
 * <p>Arguments: name, sentences a second, workers, microseconds that a bolt computes for a tuple.
 */
public final class Words {
    private static final String[] SENTENCES = {
        "the river rose in the night",
        "a gauge on the bridge told how far",
        "nobody had asked it before",
        "the water went on rising",
    };

    private Words() {
    }

    public static void main(String[] given) throws Exception {
        String name = given.length > 0 ? given[0] : "words";
        int perSecond = given.length > 1 ? Integer.parseInt(given[1]) : 200;
        int workers = given.length > 2 ? Integer.parseInt(given[2]) : 2;
        int micros = given.length > 3 ? Integer.parseInt(given[3]) : 0;
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", new Sentences(perSecond));
        builder.setBolt("split", new Split(micros), 2).shuffleGrouping("sentences");
        builder.setBolt("count", new Count(micros), 4).fieldsGrouping("split", new Fields("word"));
        Config config = new Config();
        config.setNumWorkers(workers);
        StormSubmitter.submitTopology(name, config, builder.createTopology());
    }

    /** Keeps the thread busy. */
    static void compute(int micros) {
        long until = System.nanoTime() + 1000L * micros;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }

    /** So many sentences a second, one after the other. */
    static final class Sentences extends BaseRichSpout {
        private final int perSecond;
        private transient SpoutOutputCollector collector;
        private long emitted;
        private long began;

        Sentences(int perSecond) {
            this.perSecond = perSecond;
        }

        @Override
        public void open(Map<String, Object> c, TopologyContext t, SpoutOutputCollector out) {
            collector = out;
            began = System.nanoTime();
        }

        @Override
        public void nextTuple() {
            if ((System.nanoTime() - began) / 1e9 * perSecond > emitted) {
                int next = (int) (emitted % SENTENCES.length);
                collector.emit(new Values(SENTENCES[next]), emitted++);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("sentence"));
        }
    }

    /** A sentence into its words. */
    static final class Split extends BaseBasicBolt {
        private final int micros;

        Split(int micros) {
            this.micros = micros;
        }

        @Override
        public void execute(Tuple sentence, BasicOutputCollector out) {
            compute(micros);
            for (String word : sentence.getString(0).split(" ")) {
                out.emit(new Values(word));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    /** How often each word came. */
    static final class Count extends BaseRichBolt {
        private final int micros;
        private transient Map<String, Long> counts;
        private transient OutputCollector collector;

        Count(int micros) {
            this.micros = micros;
        }

        @Override
        public void prepare(Map<String, Object> c, TopologyContext t, OutputCollector out) {
            counts = new HashMap<>();
            collector = out;
        }

        @Override
        public void execute(Tuple word) {
            compute(micros);
            counts.merge(word.getString(0), 1L, Long::sum);
            collector.ack(word);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
