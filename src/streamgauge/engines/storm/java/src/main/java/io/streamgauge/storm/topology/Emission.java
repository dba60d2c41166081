package io.streamgauge.storm.topology;

import java.io.Serializable;

/**
 * What a source emits on one stream.
 *
 * @param perSecond mean rate of each task; none where tuples are emitted whenever asked
 * @param segments rates of a shape that goes from one to another
 * @param random whether those change at random times
 * @param curve the rate of a shape that is a smooth function of time
 */
record Emission(
        String stream,
        String shape,
        double[] perSecond,
        Segments.Table segments,
        boolean random,
        Curve curve) implements Serializable {

    static final String UNLIMITED = "unlimited";

    static Emission read(Place place, int tasks) {
        String shape = place.at("shape").text();
        Segments.Table segments = null;
        Curve curve = null;
        boolean random = false;
        switch (shape) {
            case "regular", "poisson", UNLIMITED -> { }
            case "burst", "modulated", "recorded" -> {
                segments = segments(place);
                random = place.maybe("random").map(Place::flag).orElse(false);
            }
            case "seasonal" -> curve = new Curve.Sine(
                    period(place),
                    place.at("amplitude").amount(),
                    place.at("phase_seconds").number());
            case "sawtooth" -> curve = new Curve.Ramp(period(place), place.at("reverse").flag());
            default -> throw place.at("shape").wrong("poisson, regular, unlimited, burst, "
                    + "modulated, recorded, seasonal or sawtooth");
        }
        double[] rates = new double[tasks];
        if (!shape.equals(UNLIMITED)) {
            rates = place.at("per_second").amounts();
            if (rates.length != tasks) {
                throw place.at("per_second").wrong(tasks + " rates, one for each task");
            }
        }
        return new Emission(place.at("stream").text(), shape, rates, segments, random, curve);
    }

    boolean unlimited() {
        return shape.equals(UNLIMITED);
    }

    private static double period(Place place) {
        double period = place.at("period_seconds").amount();
        if (period == 0.0) {
            throw place.at("period_seconds").wrong("a number above 0");
        }
        return period;
    }

    private static Segments.Table segments(Place place) {
        double[] factors = place.at("factors").amounts();
        double[] seconds = place.at("seconds").amounts();
        double sum = 0.0;
        for (int index = 0; index < Math.min(factors.length, seconds.length); index++) {
            sum += factors[index] * seconds[index];
        }
        if (factors.length != seconds.length || !(sum > 0.0)) {
            throw place.at("factors").wrong("as many as seconds, and one above 0");
        }
        return new Segments.Table(factors, seconds);
    }
}
