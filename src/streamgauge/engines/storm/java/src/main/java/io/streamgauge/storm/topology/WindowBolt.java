package io.streamgauge.storm.topology;

import java.util.Map;
import java.util.random.RandomGenerator;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.WindowedBoltExecutor;
import org.apache.storm.tuple.Tuple;

/**
 * Storm's own windows, with a service time for every tuple that enters one. A tuple that the bolt
 * fails is failed where Storm would ack it: when it leaves the window.
 */
final class WindowBolt extends WindowedBoltExecutor {
    private static final long serialVersionUID = 1L;

    private final Program.Shared shared;
    private final Program.Bolt bolt;
    private final WindowFunction function;
    private transient Station station;

    WindowBolt(Program.Shared shared, Program.Bolt bolt) {
        this(shared, bolt, new WindowFunction(shared, bolt));
    }

    private WindowBolt(Program.Shared shared, Program.Bolt bolt, WindowFunction function) {
        super(function);
        this.shared = shared;
        this.bolt = bolt;
        this.function = function;
    }

    @Override
    public void prepare(
            Map<String, Object> configuration, TopologyContext context, OutputCollector out) {
        station = new Station(shared, bolt, context);
        function.attach(station);
        super.prepare(configuration, context, new Settling(out));
    }

    @Override
    public void execute(Tuple tuple) {
        Station.Visit visit = station.serve(tuple);
        station.leave(visit);
        if (visit.trail() != null) {
            function.trace(tuple, visit.trail());
        }
        super.execute(tuple);
    }

    /** Acks what leaves the window, or fails it, and forgets its trail; on either thread. */
    private final class Settling extends OutputCollector {
        private final RandomGenerator random = station.draws("settling");

        Settling(OutputCollector delegate) {
            super(delegate);
        }

        @Override
        public synchronized void ack(Tuple tuple) {
            function.forget(tuple);
            if (bolt.fails() > 0.0 && random.nextDouble() < bolt.fails()) {
                super.fail(tuple);
            } else {
                super.ack(tuple);
            }
        }
    }
}
