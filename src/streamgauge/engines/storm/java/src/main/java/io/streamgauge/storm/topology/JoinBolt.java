package io.streamgauge.storm.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * A bolt that emits once every input has brought a tuple of the same key, and drops, acked, what
 * has waited too long for its partners. The outputs are those of the input that came last.
 */
final class JoinBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final Program.Shared shared;
    private final Program.Bolt bolt;
    private transient OutputCollector collector;
    private transient Station station;
    private transient Outlets outlets;
    private transient Partners<Kept> partners;

    /** A tuple that waits. */
    private record Kept(Tuple tuple, Station.Visit visit) {
    }

    JoinBolt(Program.Shared shared, Program.Bolt bolt) {
        this.shared = shared;
        this.bolt = bolt;
    }

    @Override
    public void prepare(
            Map<String, Object> configuration, TopologyContext context, OutputCollector out) {
        collector = out;
        station = new Station(shared, bolt, context);
        outlets = new Outlets(bolt.component().streams(), context, station.draws("outputs"));
        long within = (long) (bolt.joinWithinSeconds() * 1e9);
        partners = new Partners<>(bolt.inputs().size(), within);
    }

    @Override
    public void execute(Tuple tuple) {
        Station.Visit visit = station.serve(tuple);
        long now = System.nanoTime();
        for (Kept late : partners.drop(now)) {
            collector.ack(late.tuple);
        }
        int input = bolt.inputs().indexOf(visit.input());
        String key = tuple.getStringByField(Outlets.KEY);
        List<Kept> found = partners.add(key, input, new Kept(tuple, visit), now);
        if (!found.isEmpty()) {
            complete(visit, found);
        }
        station.leave(visit);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outlets.declare(bolt.component().streams(), declarer);
    }

    private void complete(Station.Visit visit, List<Kept> found) {
        List<Tuple> anchors = new ArrayList<>(found.size());
        List<byte[]> several = new ArrayList<>(found.size());
        Trail trail = null;
        for (Kept one : found) {
            anchors.add(one.tuple);
            several.add(one.visit.roots());
            // A result goes on the way of the first of its tuples that is traced.
            trail = trail == null ? one.visit.trail() : trail;
            station.arrive(one.visit.trail(), false);
        }
        byte[] roots = Roots.join(several, station.random());
        outlets.emit(visit.input().outputs(), bolt.exclusive(), roots, trail,
                (task, stream, values) -> send(anchors, task, stream, values));
        station.arrive(roots);
        for (Tuple one : anchors) {
            if (station.fails()) {
                collector.fail(one);
            } else {
                collector.ack(one);
            }
        }
    }

    private void send(List<Tuple> anchors, Integer task, String stream, Values values) {
        if (task != null && shared.acked()) {
            collector.emitDirect(task, stream, anchors, values);
        } else if (task != null) {
            collector.emitDirect(task, stream, values);
        } else if (shared.acked()) {
            collector.emit(stream, anchors, values);
        } else {
            collector.emit(stream, values);
        }
    }
}
