package io.streamgauge.storm.agent;

import java.util.ArrayList;
import java.util.List;

/** The samples of one stretch of time, as lines. */
final class Bucket {
    final long startMicros;
    final double seconds;
    /** Whether it is a whole one between round times, as all that several processes write are. */
    final boolean whole;
    private final String cluster;
    private final String topology;
    private final String planId;
    private final List<String> lines = new ArrayList<>();
    private final JsonLine json = new JsonLine();

    Bucket(
        String cluster,
        String topology,
        String planId,
        long startMicros,
        double seconds,
        boolean whole
    ) {
        this.cluster = cluster;
        this.topology = topology;
        this.planId = planId;
        this.startMicros = startMicros;
        this.seconds = seconds;
        this.whole = whole;
    }

    List<String> lines() {
        return lines;
    }

    /** Something counted exactly; nothing is written where nothing happened. */
    void counted(Subject who, String metric, Keys keys, long value) {
        if (value > 0) {
            sample(who, metric, keys, value, value);
        }
    }

    /** A level, the mean of so many readings. */
    void gauge(Subject who, String metric, double value, long readings) {
        if (readings > 0 && Double.isFinite(value)) {
            sample(who, metric, Keys.NONE, Math.max(value, 0.0), readings);
        }
    }

    /** Time on an account that is read once a bucket. */
    void spent(Subject who, String metric, long nanos) {
        if (nanos >= 0) {
            sample(who, metric, Keys.NONE, nanos, 1);
        }
    }

    /** A mean of what the engine observed, where it observed anything. */
    void mean(Subject who, String metric, Keys keys, long sum, long count) {
        if (count > 0) {
            sample(who, metric, keys, (double) sum / count, count);
        }
    }

    /** Sum, squares and bins of times under the names that begin with `metric`. */
    void times(Subject who, String metric, Keys keys, Distribution times) {
        Distribution.Growth grown = times.take();
        if (grown != null) {
            sample(who, metric + "_sum", keys, grown.sum(), grown.count());
            sample(who, metric + "_squares", keys, grown.squares(), grown.count());
            bins(who, metric + "_bin", keys, grown);
        }
    }

    void bins(Subject who, String metric, Keys keys, Distribution.Growth grown) {
        for (int bin = 0; bin < Bins.COUNT; bin++) {
            counted(who, metric, keys.bin(bin), grown.bins()[bin]);
        }
    }

    /** One sample. */
    void sample(Subject who, String metric, Keys keys, double value, long count) {
        json.begin("sample").put("cluster", cluster);
        if (who.ofJob()) {
            json.put("topology", topology).put("plan_id", planId);
        }
        json.put("component", who.component());
        whole("task", who.task() == null ? -1 : who.task());
        json.put("executor", who.executor())
            .put("queue", who.queue())
            .put("worker", who.worker())
            .put("node", who.node())
            .put("machine", who.machine())
            .put("metric", metric)
            .put("stream", keys.stream())
            .put("source_component", keys.sourceComponent());
        whole("source_task", keys.sourceTask());
        whole("bin", keys.bin());
        json.put("bucket_start_us", startMicros)
            .put("bucket_seconds", seconds)
            .put("value", value)
            .put("count", count);
        lines.add(json.end());
    }

    private void whole(String key, int value) {
        if (value >= 0) {
            json.put(key, (long) value);
        }
    }
}
