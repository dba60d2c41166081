package io.streamgauge.storm.topology;

import io.streamgauge.storm.agent.Recorder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseWindowedBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.windowing.TupleWindow;

/**
 * What a window does when it fires; Storm anchors what it emits to all tuples in it.
 *
 * <p>Windows that slide by time fire on a thread of their own, so nothing here is shared with the
 * executor's thread but the trails.
 */
final class WindowFunction extends BaseWindowedBolt {
    private static final long serialVersionUID = 1L;

    private final Program.Shared shared;
    private final Program.Bolt bolt;
    private transient OutputCollector collector;
    private transient Station station;
    private transient Recorder recorder;
    private transient RandomGenerator random;
    private transient Server server;
    private transient Stopwatch watch;
    private transient Outlets outlets;
    private transient Map<Tuple, Trail> trails;
    private transient int fired;

    WindowFunction(Program.Shared shared, Program.Bolt bolt) {
        this.shared = shared;
        this.bolt = bolt;
        configure(bolt.window());
    }

    private void configure(Program.Window window) {
        if (window.lengthTuples() > 0 && window.slideTuples() > 0) {
            withWindow(new Count(window.lengthTuples()), new Count(window.slideTuples()));
        } else if (window.lengthTuples() > 0) {
            withWindow(new Count(window.lengthTuples()), milliseconds(window.slideMs()));
        } else if (window.slideTuples() > 0) {
            withWindow(milliseconds(window.lengthMs()), new Count(window.slideTuples()));
        } else {
            withWindow(milliseconds(window.lengthMs()), milliseconds(window.slideMs()));
        }
    }

    private static Duration milliseconds(int count) {
        return Duration.of(count);
    }

    /** The station whose tuples these are; before {@link #prepare}. */
    void attach(Station its) {
        station = its;
    }

    /** Keep the trail of a tuple that enters the window. */
    void trace(Tuple tuple, Trail trail) {
        station.arrive(trail, false);
        trails.put(tuple, trail);
    }

    void forget(Tuple tuple) {
        trails.remove(tuple);
    }

    @Override
    public void prepare(
            Map<String, Object> configuration, TopologyContext context, OutputCollector out) {
        collector = out;
        recorder = station.recorder();
        random = station.draws("window");
        server = station.server(random);
        watch = new Stopwatch(bolt.window().service().cpuMs().mean());
        outlets = new Outlets(bolt.component().streams(), context, random);
        trails = new ConcurrentHashMap<>();
    }

    @Override
    public void execute(TupleWindow window) {
        watch.start();
        List<Tuple> tuples = window.get();
        server.spend(bolt.window().service(), bolt.window().cpuMsPerTuple() * tuples.size());
        byte[] roots = roots(tuples);
        // A tuple of a sliding window is in several: their results are ways of their own.
        Trail trail = trail(tuples);
        if (trail != null && sliding()) {
            trail = trail.fork(Integer.MIN_VALUE | fired);
        }
        if (bolt.parity() != null) {
            boolean equal = parity(tuples);
            outlets.emit(equal ? bolt.parity().equal() : bolt.parity().different(),
                    roots, trail, this::send);
        }
        outlets.emit(bolt.window().outputs(), false, roots, trail, this::send);
        station.arrive(roots);
        fired = (fired + 1) & Integer.MAX_VALUE;
        recorder.windowFired(tuples.size(), watch.wallNanos(), watch.cpuNanos());
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outlets.declare(bolt.component().streams(), declarer);
    }

    private boolean sliding() {
        Program.Window window = bolt.window();
        return window.lengthTuples() != window.slideTuples()
                || window.lengthMs() != window.slideMs();
    }

    private byte[] roots(List<Tuple> tuples) {
        List<byte[]> several = new ArrayList<>(tuples.size());
        for (Tuple tuple : tuples) {
            several.add(tuple.getBinaryByField(Outlets.ROOTS));
        }
        return Roots.join(several, random);
    }

    /** That of the first traced tuple in the window. */
    private Trail trail(List<Tuple> tuples) {
        if (trails.isEmpty()) {
            return null;
        }
        return tuples.stream().map(trails::get).filter(one -> one != null).findFirst().orElse(null);
    }

    /** Whether the counts of tuples by input are all even or all odd. */
    private boolean parity(List<Tuple> tuples) {
        Map<String, Integer> odd = new HashMap<>();
        for (Tuple tuple : tuples) {
            String input = tuple.getSourceComponent() + "\n" + tuple.getSourceStreamId();
            odd.merge(input, 1, (before, one) -> before ^ one);
        }
        int count = odd.values().stream().mapToInt(Integer::intValue).sum();
        return count == 0 || count == bolt.inputs().size();
    }

    private void send(Integer task, String stream, Values values) {
        if (task == null) {
            collector.emit(stream, values);
        } else {
            collector.emitDirect(task, stream, values);
        }
    }
}
