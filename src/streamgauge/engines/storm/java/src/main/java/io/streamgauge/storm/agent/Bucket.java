package io.streamgauge.storm.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The samples of one stretch of time, as lines. */
final class Bucket {
    /** Of the raw format, which has had lines of several samples since then. */
    private static final int VERSION = 2;

    final long startMicros;
    final double seconds;
    /** Whether it is a whole one between round times, as all that several processes write are. */
    final boolean whole;
    private final String cluster;
    private final String topology;
    private final String planId;
    private final List<String> lines = new ArrayList<>();
    private final Map<Head, Group> groups = new LinkedHashMap<>();
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

    /** All lines, once everything is in the bucket. */
    List<String> lines() {
        groups.forEach(this::write);
        groups.clear();
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

    /** One histogram, which is a line of its own. */
    void bins(Subject who, String metric, Keys keys, Distribution.Growth grown) {
        List<Integer> bins = new ArrayList<>();
        List<Long> values = new ArrayList<>();
        for (int bin = 0; bin < Bins.COUNT; bin++) {
            if (grown.bins()[bin] > 0) {
                bins.add(bin);
                values.add(grown.bins()[bin]);
            }
        }
        if (!bins.isEmpty()) {
            begin("histogram", who).put("metric", metric);
            among(keys).putNumbers("bins", bins);
            lines.add(during().putNumbers("values", values).end());
        }
    }

    /** One sample, which goes on a line with others of its subject. */
    void sample(Subject who, String metric, Keys keys, double value, long count) {
        Head head = new Head(who, keys);
        Group group = groups.computeIfAbsent(head, one -> new Group());
        if (group.metrics.contains(metric)) {
            // A line names a metric once.
            write(head, group);
            group = new Group();
            groups.put(head, group);
        }
        group.metrics.add(metric);
        group.values.add(value);
        group.counts.add(count);
    }

    private void write(Head head, Group group) {
        begin("samples", head.who()).putNames("metrics", group.metrics);
        among(head.keys());
        during().putNumbers("values", group.values);
        if (!group.isExact()) {
            json.putNumbers("counts", group.counts);
        }
        lines.add(json.end());
    }

    private JsonLine begin(String type, Subject who) {
        json.begin(type, VERSION).put("cluster", cluster);
        if (who.ofJob()) {
            json.put("topology", topology).put("plan_id", planId);
        }
        json.put("component", who.component());
        whole("task", who.task() == null ? -1 : who.task());
        return json.put("executor", who.executor())
            .put("queue", who.queue())
            .put("worker", who.worker())
            .put("node", who.node())
            .put("machine", who.machine());
    }

    private JsonLine among(Keys keys) {
        json.put("stream", keys.stream()).put("source_component", keys.sourceComponent());
        whole("source_task", keys.sourceTask());
        return json;
    }

    private JsonLine during() {
        return json.put("bucket_start_us", startMicros).put("bucket_seconds", seconds);
    }

    private void whole(String key, int value) {
        if (value >= 0) {
            json.put(key, (long) value);
        }
    }

    /** What the samples of a line have in common. */
    private record Head(Subject who, Keys keys) {
    }

    /** The samples of a line. */
    private static final class Group {
        private final List<String> metrics = new ArrayList<>();
        private final List<Double> values = new ArrayList<>();
        private final List<Long> counts = new ArrayList<>();

        /** Whether counts say no more than values, and are left out. */
        private boolean isExact() {
            for (int place = 0; place < counts.size(); place++) {
                if (values.get(place) != (double) counts.get(place)) {
                    return false;
                }
            }
            return true;
        }
    }
}
