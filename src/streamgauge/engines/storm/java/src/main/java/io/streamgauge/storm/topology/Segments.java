package io.streamgauge.storm.topology;

import java.io.Serializable;
import java.util.random.RandomGenerator;

/**
 * Poisson with a rate that is constant for a while and then another, over and over: bursts,
 * recorded series, and processes that change at random times.
 */
final class Segments implements Schedule {
    static final Table STEADY = new Table(new double[] {1.0}, new double[] {1.0});

    /**
     * Rates and how long each lasts.
     *
     * @param factors rates as multiples of the mean
     * @param seconds how long each lasts, or its mean where that is random
     */
    record Table(double[] factors, double[] seconds) implements Serializable {
    }

    private final double perSecond;
    private final Table table;
    private final boolean lastingAtRandom;
    private final RandomGenerator random;
    private final double period;
    private int place;
    private double from = Double.NEGATIVE_INFINITY;
    private double until = Double.NEGATIVE_INFINITY;

    Segments(double perSecond, Table table, boolean lastingAtRandom, RandomGenerator random) {
        this.perSecond = perSecond;
        this.table = table;
        this.lastingAtRandom = lastingAtRandom;
        this.random = random;
        double sum = 0.0;
        for (double one : table.seconds) {
            sum += one;
        }
        this.period = sum;
    }

    @Override
    public double next(double after, double factor) {
        if (!(perSecond * factor > 0.0)) {
            return Double.POSITIVE_INFINITY;
        }
        if (table.factors.length == 1) {
            return after + random.nextExponential() / (perSecond * factor * table.factors[0]);
        }
        enter(after);
        double now = after;
        // How long the next gap would be at the mean rate: used up segment by segment.
        double gap = random.nextExponential() / (perSecond * factor);
        while (true) {
            double due = now + gap / table.factors[place];
            if (due < until) {
                return due;
            }
            gap -= (until - now) * table.factors[place];
            now = until;
            enterNext();
        }
    }

    /** Go to the segment of that time, unless it is the one at hand. */
    private void enter(double time) {
        if (from <= time && time < until) {
            return;
        }
        if (lastingAtRandom) {
            if (until == Double.NEGATIVE_INFINITY) {
                // Which one it is in at a random moment.
                place = Draws.place(shares(), random);
                begin(time);
            }
            while (until <= time) {
                enterNext();
            }
            return;
        }
        place = 0;
        from = Math.floor(time / period) * period;
        until = from + table.seconds[0];
        while (until <= time && place < table.seconds.length - 1) {
            enterNext();
        }
    }

    private void enterNext() {
        place = (place + 1) % table.factors.length;
        begin(until);
    }

    private void begin(double now) {
        double lasting = table.seconds[place];
        from = now;
        until = now + (lastingAtRandom ? random.nextExponential() * lasting : lasting);
    }

    private double[] shares() {
        double[] cumulative = new double[table.seconds.length];
        double sum = 0.0;
        for (int index = 0; index < cumulative.length; index++) {
            sum += table.seconds[index] / period;
            cumulative[index] = sum;
        }
        return cumulative;
    }
}
