package io.streamgauge.storm.topology;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** A bolt that deals with every tuple by itself: serves it, emits what follows, acks or fails. */
final class WorkBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final Program.Shared shared;
    private final Program.Bolt bolt;
    private transient OutputCollector collector;
    private transient Station station;
    private transient Outlets outlets;

    WorkBolt(Program.Shared shared, Program.Bolt bolt) {
        this.shared = shared;
        this.bolt = bolt;
    }

    @Override
    public void prepare(
            Map<String, Object> configuration, TopologyContext context, OutputCollector out) {
        collector = out;
        station = new Station(shared, bolt, context);
        outlets = new Outlets(bolt.component().streams(), context, station.draws("outputs"));
    }

    @Override
    public void execute(Tuple tuple) {
        Station.Visit visit = station.serve(tuple);
        outlets.emit(visit.input().outputs(), bolt.exclusive(), visit.roots(), visit.trail(),
                (task, stream, values) -> send(tuple, task, stream, values));
        station.arrive(visit.roots());
        boolean failed = station.fails();
        station.arrive(visit.trail(), failed);
        if (failed) {
            collector.fail(tuple);
        } else {
            collector.ack(tuple);
        }
        station.leave(visit);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outlets.declare(bolt.component().streams(), declarer);
    }

    private void send(Tuple anchor, Integer task, String stream, Values values) {
        if (task != null && shared.acked()) {
            collector.emitDirect(task, stream, anchor, values);
        } else if (task != null) {
            collector.emitDirect(task, stream, values);
        } else if (shared.acked()) {
            collector.emit(stream, anchor, values);
        } else {
            collector.emit(stream, values);
        }
    }
}
