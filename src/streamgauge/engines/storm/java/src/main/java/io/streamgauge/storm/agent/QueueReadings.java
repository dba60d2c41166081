package io.streamgauge.storm.agent;

import com.codahale.metrics.Gauge;
import java.util.HashMap;
import java.util.Map;

/** One queue of the engine, by its gauges. */
final class QueueReadings {
    private final Map<String, Gauge<?>> gauges = new HashMap<>();
    private final Level population = new Level();
    private final Level overflow = new Level();
    private final Level full = new Level();

    void found(String name, Gauge<?> gauge) {
        gauges.put(name, gauge);
    }

    void read() {
        double length = value("population");
        population.add(length);
        overflow.add(value("overflow"));
        if (Double.isFinite(length)) {
            full.add(length >= value("capacity") ? 1.0 : 0.0);
        }
    }

    boolean wasFull() {
        return full.wasPositive();
    }

    double shareFull() {
        return full.sharePositive();
    }

    /** Writes the bucket's figures and begins anew. */
    void write(Bucket bucket, Subject who) {
        population.write(bucket, who, "queue_population");
        overflow.write(bucket, who, "queue_overflow");
        full.reset();
        bucket.gauge(who, "queue_capacity", value("capacity"), 1);
        double rate = value("arrival_rate_secs");
        bucket.gauge(who, "queue_arrival_rate", rate, 1);
        double sojourn = value("sojourn_time_ms");
        if (rate > 0.0 && Double.isFinite(sojourn)) {
            bucket.sample(who, "queue_sojourn_mean", Keys.NONE, Math.max(sojourn, 0.0), 1);
        }
        // The engine tells a rate over its last ten seconds; one reading of it is one observation.
        double failures = Math.rint(value("insert_failures") * bucket.seconds);
        if (failures >= 1.0) {
            bucket.sample(who, "queue_insert_failures", Keys.NONE, failures, 1);
        }
        double drops = value("dropped_messages");
        if (drops >= 1.0) {
            bucket.sample(who, "queue_drops_total", Keys.NONE, drops, (long) drops);
        }
    }

    private double value(String name) {
        Gauge<?> gauge = gauges.get(name);
        return gauge == null ? Double.NaN : Level.number(gauge);
    }
}
