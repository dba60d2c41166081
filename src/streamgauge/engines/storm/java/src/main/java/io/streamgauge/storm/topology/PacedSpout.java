package io.streamgauge.storm.topology;

import io.streamgauge.storm.agent.Recorder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;

/**
 * A source with an open schedule: tuples are due whether or not they may be emitted, and late ones
 * are emitted as soon as Storm asks, one at a time, with the time at which they were due.
 */
final class PacedSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;

    private final Program.Shared shared;
    private final Program.Source source;
    private transient SpoutOutputCollector collector;
    private transient TopologyContext context;
    private transient Recorder recorder;
    private transient RateControl control;
    private transient RandomGenerator random;
    private transient Server server;
    private transient Stopwatch watch;
    private transient Outlets outlets;
    private transient List<Stream> streams;
    private transient Deque<Root> again;
    private transient TimeZero zero;
    private transient volatile boolean active;

    /** A root under way: what Storm hands back when its tree has ended. */
    private record Root(String stream, long due, long emittedNanoTime) {
    }

    /** A stream of this task, and when its next tuple is due, in nanoseconds since 1970. */
    private final class Stream {
        private final String name;
        private final Schedule schedule;
        private final double perSecond;
        private double dueSeconds;
        private long due;

        Stream(String name, Schedule schedule, double perSecond) {
            this.name = name;
            this.schedule = schedule;
            this.perSecond = perSecond;
        }

        /** The tuple that is due next, where it is late, and as many as are due since then. */
        double lag(long now) {
            double late = (now - due) / 1e9;
            boolean waits = schedule != null && now >= due;
            return waits ? 1.0 + late * perSecond * control.factor() : 0.0;
        }

        void restart(long now) {
            dueBy(schedule == null
                    ? (control.factor() > 0.0 ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY)
                    : schedule.first(zero.seconds(now), control.factor()));
        }

        void advance() {
            if (schedule != null) {
                dueBy(schedule.next(dueSeconds, control.factor()));
            }
        }

        private void dueBy(double seconds) {
            dueSeconds = seconds;
            due = zero.nanos(seconds);
        }
    }

    PacedSpout(Program.Shared shared, Program.Source source) {
        this.shared = shared;
        this.source = source;
    }

    @Override
    public void open(
            Map<String, Object> configuration, TopologyContext its, SpoutOutputCollector out) {
        collector = out;
        context = its;
        recorder = Recorder.of(context);
        control = new RateControl(configuration);
        zero = TimeZero.of(context.getStormId());
        random = draws("service");
        int index = context.getThisTaskIndex();
        server = new Server(random, source.component().relativeService()[index]);
        watch = new Stopwatch(source.service().cpuMs().mean());
        outlets = new Outlets(source.component().streams(), context, draws("outputs"));
        again = new ArrayDeque<>();
        streams = new ArrayList<>();
        for (Emission emission : source.emissions()) {
            double perSecond = emission.perSecond()[index];
            if (emission.unlimited()) {
                streams.add(new Stream(emission.stream(), null, 0.0));
            } else if (perSecond > 0.0) {
                RandomGenerator numbers = draws("schedule " + emission.stream());
                streams.add(new Stream(
                        emission.stream(), Schedule.of(emission, perSecond, numbers), perSecond));
            }
        }
        control.changes();
        restart();
        recorder.lag(this::lag);
    }

    /** What was due while the topology was inactive is not late: nobody wanted it. */
    @Override
    public void activate() {
        restart();
        active = true;
    }

    @Override
    public void deactivate() {
        active = false;
    }

    /**
     * Tuples that are due and not emitted, by the mean rate since the next one was due; called by
     * other threads, which may see a due time late.
     */
    double lag() {
        if (!active) {
            return 0.0;
        }
        long now = Clock.now();
        return again.size() + streams.stream().mapToDouble(stream -> stream.lag(now)).sum();
    }

    @Override
    public void nextTuple() {
        if (control.changes()) {
            restart();
        }
        Root repeated = control.factor() > 0.0 ? again.poll() : null;
        if (repeated != null) {
            emit(repeated.stream, repeated.due);
            return;
        }
        Stream next = null;
        for (Stream stream : streams) {
            if (next == null || stream.due < next.due) {
                next = stream;
            }
        }
        if (next != null && next.due <= Clock.now()) {
            emit(next.name, next.schedule == null ? Roots.NEVER_DUE : next.due);
            next.advance();
        }
    }

    @Override
    public void ack(Object id) {
        Root root = (Root) id;
        recorder.rootAcked(root.stream, System.nanoTime() - root.emittedNanoTime);
    }

    @Override
    public void fail(Object id) {
        if (source.replays()) {
            again.add((Root) id);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outlets.declare(source.component().streams(), declarer);
    }

    private void restart() {
        long now = Clock.now();
        for (Stream stream : streams) {
            stream.restart(now);
        }
    }

    private void emit(String stream, long due) {
        watch.start();
        long started = Clock.now();
        server.spend(source.service());
        long emitted = Clock.now();
        int place = shared.sources().indexOf(source.component().name());
        byte[] roots = Roots.one(place, Clock.identity(), due, emitted);
        Root root = new Root(stream, due, System.nanoTime());
        outlets.emit(stream, roots, trail(due, started, emitted),
                (task, name, values) -> send(root, task, name, values));
        recorder.emitted(stream, watch.wallNanos(), watch.cpuNanos());
    }

    /** The first hop of a root that is sampled by its id; null for the others. */
    private Trail trail(long due, long started, long emitted) {
        long id = random.nextLong();
        if (shared.traceEvery() == 0 || Long.remainderUnsigned(id, shared.traceEvery()) != 0) {
            return null;
        }
        Trail.Hop hop = new Trail.Hop(source.component().name(), context.getThisTaskId(), "", "",
                due == Roots.NEVER_DUE ? started : Math.min(due, started), started, emitted);
        return new Trail(id, 0, List.of(hop));
    }

    private void send(Root root, Integer task, String stream, Values values) {
        if (task != null && shared.acked()) {
            collector.emitDirect(task, stream, values, root);
        } else if (task != null) {
            collector.emitDirect(task, stream, values);
        } else if (shared.acked()) {
            collector.emit(stream, values, root);
        } else {
            collector.emit(stream, values);
        }
    }

    private RandomGenerator draws(String purpose) {
        return Draws.of(
                shared.seed(), source.component().name(), context.getThisTaskIndex(), purpose);
    }
}
