package io.streamgauge.storm.agent;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What Storm says of itself in its registry (metrics v2), found by the names there:
 * {@code storm.worker.TOPOLOGY.HOST.COMPONENT.[STREAM.]TASK.PORT-METRIC}.
 */
final class EngineMetrics {
    // Topologies have no dots in their names; in hosts, components and streams Storm replaces them.
    private static final Pattern NAME =
        Pattern.compile("storm\\.(?:worker|topology)\\..+?\\.(-?\\d+)\\.(\\d+)-(.+)");
    private static final int SYSTEM_TASK = -1;
    private static final String RECEIVE = "receive-queue-";
    private static final String TRANSFER = "worker-transfer-queue-";
    private static final String OVERFLOW_SEEN = "__backpressure-last-overflow-count";
    private static final String SENT = "__send-iconnection-sent-";
    private static final String PENDING = "__send-iconnection-pending-";

    private final MetricRegistry registry;
    private final WorkerTallies worker;
    private final long sampling;
    private final Map<Integer, QueueReadings> receive = new HashMap<>();
    private final Map<Integer, Gauge<?>> capacity = new HashMap<>();
    private final Map<Integer, Level> overflowSeen = new HashMap<>();
    private final Map<String, Gauge<?>> sent = new HashMap<>();
    private final Map<String, Long> sentBefore = new HashMap<>();
    private final Map<String, Gauge<?>> pending = new HashMap<>();
    private final Level pendingLevel = new Level();
    private QueueReadings transfer = new QueueReadings();
    private Gauge<?> cores;

    /** One in `sampling` is what the engine counts, times as many. */
    EngineMetrics(MetricRegistry registry, WorkerTallies worker, long sampling) {
        this.registry = registry;
        this.worker = worker;
        this.sampling = sampling;
    }

    /** Finds gauges that have come since; some come with the first tuple. */
    void find() {
        sent.clear();
        pending.clear();
        registry.getGauges().forEach((name, gauge) -> {
            Matcher found = NAME.matcher(name);
            if (found.matches() && Integer.parseInt(found.group(2)) == worker.seat().port()) {
                found(Integer.parseInt(found.group(1)), found.group(3), gauge);
            }
        });
    }

    private void found(int task, String metric, Gauge<?> gauge) {
        if (metric.startsWith(RECEIVE) && task != SYSTEM_TASK) {
            receive.computeIfAbsent(task, one -> new QueueReadings())
                .found(metric.substring(RECEIVE.length()), gauge);
        } else if (metric.startsWith(TRANSFER)) {
            transfer.found(metric.substring(TRANSFER.length()), gauge);
        } else if (metric.equals(OVERFLOW_SEEN)) {
            overflowSeen.computeIfAbsent(task, one -> new Level()).of(gauge);
        } else if (metric.equals("__capacity")) {
            capacity.put(task, gauge);
        } else if (metric.startsWith(SENT)) {
            sent.put(metric, gauge);
        } else if (metric.startsWith(PENDING)) {
            pending.put(metric, gauge);
        } else if (metric.equals("workerCpuUsage")) {
            cores = gauge;
        }
    }

    /** Reads levels, of which a bucket has the mean. */
    void read() {
        receive.values().forEach(QueueReadings::read);
        transfer.read();
        overflowSeen.values().forEach(Level::read);
        if (!pending.isEmpty()) {
            double waiting = 0.0;
            for (Gauge<?> one : pending.values()) {
                waiting += Math.max(Level.number(one), 0.0);
            }
            pendingLevel.add(waiting);
        }
    }

    /** Writes what there is, and begins the next bucket. */
    void write(Bucket bucket) {
        Subject whole = worker.seat().subject();
        for (ExecutorTally executor : worker.executors()) {
            int first = executor.firstTask();
            Subject who = whole.executor(executor.component, executor.label());
            QueueReadings queue = receive.get(first);
            Level seen = overflowSeen.get(first);
            if (queue != null) {
                boolean held = queue.wasFull() || (seen != null && seen.wasPositive());
                if (held) {
                    caused(bucket, who.task(executor.component, first), queue, seen);
                }
                queue.write(bucket, who.queue("receive"));
            }
            for (TaskTally task : executor.tasks()) {
                Level level = overflowSeen.get(task.task);
                if (level != null) {
                    Subject one = who.task(task.component, task.task);
                    level.write(bucket, one, "backpressure_overflow");
                }
            }
            Gauge<?> share = capacity.get(first);
            if (share != null && !executor.component.equals(Names.ACKER)) {
                bucket.gauge(who, "executor_capacity", Level.number(share), 1);
            }
        }
        transfer.write(bucket, whole.queue("transfer"));
        network(bucket, whole);
        if (cores != null) {
            bucket.gauge(whole, "worker_cores", Level.number(cores), 1);
        }
        counters(bucket, whole);
    }

    /** Time by the share of readings that found senders held back. */
    private static void caused(Bucket bucket, Subject who, QueueReadings queue, Level seen) {
        double share = Math.max(queue.shareFull(), seen == null ? 0.0 : seen.sharePositive());
        bucket.spent(who, "backpressure_caused", Math.round(share * bucket.seconds * 1e9));
    }

    private void network(Bucket bucket, Subject who) {
        long messages = 0;
        for (Map.Entry<String, Gauge<?>> one : sent.entrySet()) {
            long now = (long) Level.number(one.getValue());
            Long before = sentBefore.put(one.getKey(), now);
            // Storm's counter is an int that wraps, and a new connection begins at zero.
            messages += before == null || now < before ? Math.max(now, 0) : now - before;
        }
        bucket.counted(who, "network_messages_sent", Keys.NONE, messages);
        pendingLevel.write(bucket, who, "network_pending");
    }

    private void counters(Bucket bucket, Subject whole) {
        registry.getCounters().forEach((name, counter) -> {
            Matcher found = NAME.matcher(name);
            if (!found.matches() || Integer.parseInt(found.group(2)) != worker.seat().port()) {
                return;
            }
            TaskTally task = worker.task(Integer.parseInt(found.group(1)));
            long value = counter.getCount();
            if (task != null && value > 0) {
                Subject who = whole.executor(task.component, task.executor.label())
                    .task(task.component, task.task);
                total(bucket, who, worker.isSource(task.component), found.group(3), value);
            }
        });
    }

    private void total(Bucket bucket, Subject who, boolean source, String metric, long value) {
        String[] kinds = {
            "__emit-count-", "emitted_total", "__transfer-count-", "sent_total",
            "__execute-count-", "executed_total", "__ack-count-", "acked_total",
            "__fail-count-", "failed_total",
        };
        for (int place = 0; place < kinds.length; place += 2) {
            if (!metric.startsWith(kinds[place])) {
                continue;
            }
            String rest = metric.substring(kinds[place].length());
            boolean outgoing = place < 4 || source;
            String label = place >= 6 && source ? "roots_" + kinds[place + 1] : kinds[place + 1];
            Keys keys = outgoing ? Keys.output(rest) : worker.inputKeys(rest);
            if (keys != null && Names.isCounted(keys.stream())) {
                bucket.sample(who, label, keys, value, value / sampling);
            }
            return;
        }
    }
}
