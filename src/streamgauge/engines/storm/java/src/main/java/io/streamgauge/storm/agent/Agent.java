package io.streamgauge.storm.agent;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.ConfigUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The agent of one worker: who counts joins it, and its own thread writes once a bucket. */
final class Agent {
    static final long NANOS_PER_MILLI = 1_000_000;

    private static final Logger LOG = LoggerFactory.getLogger(Agent.class);
    // Several workers share a process in local mode.
    private static final ConcurrentMap<String, Agent> AGENTS = new ConcurrentHashMap<>();
    private static final String TOKEN = "streamgauge.agent.token";
    private static final int MOST_TRACES = 10_000;
    private static final long JOIN_MILLIS = 2_000;
    private static final long PATIENCE_MILLIS = 60_000;
    private static final long POLL_MILLIS = 100;

    private final String token;
    private final Map<String, Object> conf;
    private final MetricRegistry registry;
    private final Settings settings;
    private final WorkerTallies worker;
    private final Assignment assignment = new Assignment();
    private final ConcurrentLinkedQueue<Trace> traces = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waitingTraces = new AtomicInteger();
    private final boolean acked;
    // Not an interrupt: that would close the file in writing.
    private final CountDownLatch end = new CountDownLatch(1);
    private Thread thread;

    private Agent(
        String token, MetricRegistry registry, Map<String, Object> conf, Settings settings) {
        this.token = token;
        this.registry = registry;
        this.conf = conf;
        this.settings = settings;
        this.acked = StormCommon.hasAckers(conf);
        long startMillis = ConfigUtils.isLocalMode(conf)
            ? System.currentTimeMillis() : ManagementFactory.getRuntimeMXBean().getStartTime();
        this.worker = new WorkerTallies(conf, Names.node(), Names.machine(), startMillis);
    }

    /** An agent for the worker whose configuration this is, which then knows it. */
    static Agent install(
        MetricRegistry registry, Map<String, Object> conf, Map<String, Object> entry) {
        List<String> notes = new ArrayList<>();
        Settings settings = Settings.of(conf, entry, notes);
        notes.forEach(LOG::warn);
        String token = UUID.randomUUID().toString();
        Agent agent = new Agent(token, registry, conf, settings);
        AGENTS.put(token, agent);
        conf.put(TOKEN, token);
        if (settings.waits()) {
            WatchedWait.install(conf);
        }
        return agent;
    }

    /** The agent of the worker whose configuration this is, or null. */
    static Agent of(Map<String, Object> conf) {
        Object token = conf.get(TOKEN);
        return token == null ? null : AGENTS.get(token.toString());
    }

    /** Says in the worker's log what went wrong. */
    static void tell(String what, Throwable broken) {
        LOG.warn("{}: {}. The topology is not affected.", what, broken.toString(), broken);
    }

    TaskTally join(TopologyContext context) {
        return worker.join(context);
    }

    TaskTally task(int task) {
        return worker.task(task);
    }

    ExecutorTally executorOf(Thread thread) {
        return worker.executorOf(thread.getName());
    }

    boolean isAcked() {
        return acked;
    }

    /** A tuple knows where all tasks run. */
    void saw(Tuple tuple) {
        assignment.saw(tuple);
    }

    /** Keeps a trace until the bucket is written; too many at once are thrown away. */
    void trace(Trace trace) {
        if (waitingTraces.get() < MOST_TRACES) {
            waitingTraces.incrementAndGet();
            traces.add(trace);
        }
    }

    /** Traces that came since the last call. */
    List<Trace> takeTraces() {
        List<Trace> taken = new ArrayList<>();
        for (Trace one = traces.poll(); one != null; one = traces.poll()) {
            waitingTraces.decrementAndGet();
            taken.add(one);
        }
        return taken;
    }

    synchronized void start() {
        if (thread == null) {
            thread = new Thread(this::run, "streamgauge-agent");
            thread.setDaemon(true);
            thread.start();
            // A worker that is told to end has a second or so: too short for its own way to us.
            Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "streamgauge-stop"));
        }
    }

    /** Writes what is left and ends. */
    synchronized void stop() {
        end.countDown();
        AGENTS.remove(token);
        if (thread != null) {
            try {
                thread.join(JOIN_MILLIS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void run() {
        try {
            Seat seat = awaitSeat();
            if (seat != null) {
                recover(settings.folder());
                try (Writing writing = new Writing(this, seat)) {
                    writing.run();
                }
            }
        } catch (Throwable broken) {
            tell("Metrics of this worker end here", broken);
        }
    }

    /** Which worker this is comes with its tasks, or from the worker's own properties. */
    private Seat awaitSeat() {
        String port = System.getProperty("worker.port");
        long patience = System.nanoTime() + PATIENCE_MILLIS * NANOS_PER_MILLI;
        while (!isStopping() && !worker.isWhole() && System.nanoTime() < patience) {
            sleep(POLL_MILLIS);
        }
        if (worker.seat() == null && port != null && !isStopping()) {
            LOG.warn("No task has joined: is topology.auto.task.hooks set? Only the engine's own"
                + " metrics are written.");
            worker.sit(Integer.parseInt(port));
        }
        return worker.seat();
    }

    private static void recover(Path folder) {
        try {
            for (Path file : Recovery.of(folder)) {
                LOG.info("Finished what an earlier worker left: {}", file);
            }
        } catch (IOException nothingThere) {
            LOG.debug("Nothing to recover in {}", folder);
        }
    }

    /** Waits so long, or until the agent shall end. */
    void sleep(long millis) {
        try {
            end.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            LOG.debug("Woken up");
        }
    }

    boolean isStopping() {
        return end.getCount() == 0;
    }

    Settings settings() {
        return settings;
    }

    Map<String, Object> conf() {
        return conf;
    }

    MetricRegistry registry() {
        return registry;
    }

    WorkerTallies worker() {
        return worker;
    }

    Assignment assignment() {
        return assignment;
    }

    int sampling() {
        return ConfigUtils.samplingRate(conf);
    }
}
