package io.streamgauge.storm.topology;

import io.streamgauge.storm.agent.Recorder;
import io.streamgauge.storm.agent.Trace;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/** One task of a bolt: serves tuples, and keeps the times that only it can know. */
final class Station {
    private final Program.Shared shared;
    private final Program.Bolt bolt;
    private final TopologyContext context;
    private final Recorder recorder;
    private final RandomGenerator random;
    private final Server server;
    private final Map<String, Map<String, Entrance>> entrances = new HashMap<>();

    Station(Program.Shared shared, Program.Bolt bolt, TopologyContext context) {
        this.shared = shared;
        this.bolt = bolt;
        this.context = context;
        this.recorder = Recorder.of(context);
        this.random = draws("service");
        this.server = server(random);
        for (Program.Input input : bolt.inputs()) {
            entrances.computeIfAbsent(input.source(), any -> new HashMap<>())
                    .put(input.stream(), new Entrance(input));
        }
    }

    /** A visit of one tuple: what became of it on its way so far. */
    record Visit(Entrance entrance, byte[] roots, Trail trail) {
        Program.Input input() {
            return entrance.input;
        }
    }

    /** Where the tuples of one stream come in. */
    static final class Entrance {
        private final Program.Input input;
        private final Stopwatch watch;

        Entrance(Program.Input input) {
            this.input = input;
            this.watch = new Stopwatch(input.service().cpuMs().mean());
        }
    }

    /** Spend the service time of a tuple. The visit's time goes on until {@link #leave}. */
    Visit serve(Tuple tuple) {
        Entrance entrance =
                entrances.get(tuple.getSourceComponent()).get(tuple.getSourceStreamId());
        entrance.watch.start();
        byte[] trail = tuple.getBinaryByField(Outlets.TRAIL);
        long started = trail == null ? 0 : Clock.now();
        server.spend(entrance.input.service());
        byte[] roots = tuple.getBinaryByField(Outlets.ROOTS);
        if (trail == null) {
            return new Visit(entrance, roots, null);
        }
        return new Visit(entrance, roots, further(tuple, entrance.input, Trail.of(trail), started));
    }

    /** The visit is over, with all that it led to. */
    void leave(Visit visit) {
        Program.Input input = visit.entrance.input;
        Stopwatch watch = visit.entrance.watch;
        recorder.executed(input.source(), input.stream(), watch.wallNanos(), watch.cpuNanos());
    }

    /** Whether the bolt fails a tuple that it is done with. */
    boolean fails() {
        return bolt.fails() > 0.0 && random.nextDouble() < bolt.fails();
    }

    /** Tuples with these roots have come to their end, if this is one. */
    void arrive(byte[] roots) {
        if (!bolt.sink()) {
            return;
        }
        long now = Clock.now();
        Roots.visit(roots, (source, clock, due, emitted) -> {
            // The difference of two machines' clocks is no latency.
            if (clock != Clock.identity()) {
                return;
            }
            recorder.endToEnd(shared.sources().get(source), now - emitted);
            if (due != Roots.NEVER_DUE) {
                recorder.sinceDue(shared.sources().get(source), now - due);
            }
        });
    }

    /** The trail of a tuple ends here, if this is an end. */
    void arrive(Trail trail, boolean failed) {
        if (trail != null && bolt.sink()) {
            recorder.trace(trace(trail, failed ? "failed" : "arrived"));
        }
    }

    Recorder recorder() {
        return recorder;
    }

    /** The numbers that the executor's thread draws services from. */
    RandomGenerator random() {
        return random;
    }

    /** Numbers of this task for a purpose of its own. */
    RandomGenerator draws(String purpose) {
        return Draws.of(
                shared.seed(), bolt.component().name(), context.getThisTaskIndex(), purpose);
    }

    /** A server with this task's speed, for a thread of its own. */
    Server server(RandomGenerator numbers) {
        return new Server(
                numbers, bolt.component().relativeService()[context.getThisTaskIndex()]);
    }

    static Trace trace(Trail trail, String outcome) {
        long start = trail.hops().get(0).finished();
        List<Trace.Hop> hops = new ArrayList<>();
        for (Trail.Hop hop : trail.hops()) {
            hops.add(new Trace.Hop(
                    hop.component(),
                    hop.task(),
                    hop.stream().isEmpty() ? null : hop.stream(),
                    hop.key().isEmpty() ? null : hop.key(),
                    hop.arrived() - start,
                    hop.started() - start,
                    hop.finished() - start));
        }
        long latency = hops.get(hops.size() - 1).finishedNanos();
        return new Trace(Long.toHexString(trail.root()), trail.number(), start / 1000, hops,
                latency, -1, outcome);
    }

    private Trail further(Tuple tuple, Program.Input input, Trail trail, long started) {
        String key = tuple.getStringByField(Outlets.KEY);
        Trail.Hop hop = new Trail.Hop(
                bolt.component().name(),
                context.getThisTaskId(),
                tuple.getSourceStreamId(),
                key == null ? "" : key,
                started,
                started,
                Math.max(Clock.now(), started));
        // Every subscriber, and every task of an all grouping, has a copy of the same trail. Below
        // zero, so that a copy here is not taken for a tuple that the sender emitted beside it.
        int copy = input.copy();
        if (input.grouping().kind().equals("all")) {
            copy += context.getThisTaskIndex() << Short.SIZE;
        }
        return trail.fork(-copy).then(hop);
    }
}
