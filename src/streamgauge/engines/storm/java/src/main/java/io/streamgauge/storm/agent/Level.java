package io.streamgauge.storm.agent;

import com.codahale.metrics.Gauge;

/** A level that is read several times a bucket. */
final class Level {
    private Gauge<?> gauge;
    private double sum;
    private int readings;
    private int positive;

    void of(Gauge<?> found) {
        gauge = found;
    }

    /** What a gauge says; not a number where it fails or says something else. */
    static double number(Gauge<?> gauge) {
        try {
            return gauge.getValue() instanceof Number value ? value.doubleValue() : Double.NaN;
        } catch (RuntimeException broken) {
            return Double.NaN;
        }
    }

    void read() {
        if (gauge != null) {
            add(number(gauge));
        }
    }

    void add(double value) {
        if (Double.isFinite(value)) {
            sum += value;
            readings++;
            positive += value > 0.0 ? 1 : 0;
        }
    }

    boolean wasPositive() {
        return positive > 0;
    }

    double sharePositive() {
        return readings == 0 ? 0.0 : (double) positive / readings;
    }

    /** Writes the mean and begins anew. */
    void write(Bucket bucket, Subject who, String metric) {
        if (readings > 0) {
            bucket.gauge(who, metric, sum / readings, readings);
        }
        reset();
    }

    void reset() {
        sum = 0.0;
        readings = 0;
        positive = 0;
    }
}
