package io.streamgauge.storm.agent;

import java.util.ArrayList;
import java.util.List;

/** The loop of the agent's thread: reads levels every second, writes a bucket when it ends. */
final class Writing implements AutoCloseable {
    private static final long READ_MILLIS = 1_000;
    private static final int LEAST_READINGS = 5;
    // For each second of a bucket; further traces are left out.
    private static final long TRACE_BYTES_PER_SECOND = 256L << 10;

    private final Agent agent;
    private final Seat seat;
    private final String cluster;
    private final LineFiles files;
    private final TaskSamples tasks;
    private final EngineMetrics engine;
    private final ThreadTimes threads;
    private final HostSamples hosts;
    private final Probes probes;
    private final Plans plans;
    private final long bucketMillis;
    private final List<String> links = new ArrayList<>();
    private long begunAtMillis;

    Writing(Agent agent, Seat seat) {
        this.agent = agent;
        this.seat = seat;
        Settings settings = agent.settings();
        this.cluster = settings.cluster();
        this.bucketMillis = Math.round(settings.bucketSeconds() * 1000.0);
        this.files = new LineFiles(
            settings.folder(), seat.family(), seat.startMillis(), settings.maxBytes(),
            System::currentTimeMillis);
        WorkerTallies worker = agent.worker();
        this.tasks = new TaskSamples(worker, agent.isAcked());
        this.engine = new EngineMetrics(agent.registry(), worker, agent.sampling());
        this.threads = new ThreadTimes(worker, JobDocument.onlyTimedWindow(worker));
        String scope = cluster + "-" + agent.conf().get("nimbus.seeds") + "-"
            + agent.conf().get("nimbus.thrift.port");
        this.hosts = new HostSamples(seat, Integer.toHexString(scope.hashCode()));
        this.probes = new Probes(settings.ping(), seat.node());
        this.plans = new Plans(agent, seat);
    }

    void run() {
        boolean again = files.hasPredecessor();
        files.write(List.of(event(again ? "restart" : "start", seat.startMillis())));
        // What was counted before now belongs to a bucket that began with the process.
        begunAtMillis = seat.startMillis();
        engine.find();
        plans.look();
        long readEvery = Math.min(READ_MILLIS, bucketMillis / LEAST_READINGS);
        while (!agent.isStopping()) {
            long end = endOf(begunAtMillis);
            agent.sleep(Math.min(readEvery, Math.max(end - System.currentTimeMillis(), 1)));
            try {
                readings();
                if (System.currentTimeMillis() >= end) {
                    write();
                    ask();
                }
            } catch (RuntimeException broken) {
                Agent.tell("A bucket of metrics was not written", broken);
                begunAtMillis = System.currentTimeMillis();
            }
        }
    }

    /** The round time at which a bucket ends that has begun then. */
    private long endOf(long millis) {
        return (millis / bucketMillis + 1) * bucketMillis;
    }

    private void readings() {
        engine.read();
        threads.read();
    }

    /** Writes what happened since the bucket began, up to the last round time, or to now. */
    private void write() {
        long now = System.currentTimeMillis();
        long end = agent.isStopping() ? now : now / bucketMillis * bucketMillis;
        long length = end - begunAtMillis;
        if (length <= 0) {
            // The clock was set back: what was counted goes into the next bucket.
            begunAtMillis = length < 0 ? now : begunAtMillis;
            return;
        }
        boolean whole = length == bucketMillis && end % bucketMillis == 0;
        Bucket bucket = new Bucket(
            cluster, seat.topology(), plans.id(), begunAtMillis * 1000, length / 1000.0, whole);
        bucket.counted(seat.subject(), "worker_heartbeats", Keys.NONE, 1);
        bucket.gauge(seat.subject(), "worker_uptime", (end - seat.startMillis()) / 1000.0, 1);
        tasks.write(bucket);
        engine.write(bucket);
        threads.write(bucket);
        hosts.write(bucket);
        begunAtMillis = end;
        List<String> lines = new ArrayList<>(plans.takeLines());
        lines.addAll(bucket.lines());
        lines.addAll(within(agent.takeTraces(), TRACE_BYTES_PER_SECOND * length / 1000));
        lines.addAll(links);
        links.clear();
        files.write(lines);
        engine.find();
    }

    /** The lines of traces, as many as so many bytes hold. */
    private List<String> within(List<Trace> traces, long bytes) {
        List<String> lines = new ArrayList<>();
        long room = bytes;
        for (Trace trace : traces) {
            String line = trace.line(cluster, seat.topology(), plans.id());
            // Lines are ASCII: a letter is a byte.
            if (line.length() <= room) {
                room -= line.length();
                lines.add(line);
            }
        }
        return lines;
    }

    /** What has to be asked for over the network, which may take its time. */
    private void ask() {
        if (hosts.speaksForNode()) {
            probes.write(cluster, agent.assignment().nodes(), links);
        }
        plans.look();
    }

    private String event(String kind, long atMillis) {
        return new JsonLine().begin("event")
            .put("cluster", cluster)
            .put("topology", seat.topology())
            .put("happened_at_us", atMillis * 1000)
            .put("kind", kind)
            .put("worker", seat.worker())
            .put("node", seat.node())
            .end();
    }

    @Override
    public void close() {
        try {
            write();
            files.write(List.of(event("stop", System.currentTimeMillis())));
        } catch (RuntimeException broken) {
            Agent.tell("The last bucket of metrics was not written", broken);
        }
        files.close();
        hosts.close();
    }
}
