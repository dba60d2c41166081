package io.streamgauge.storm.topology;

import java.util.random.RandomGenerator;

/**
 * When the tuples of one task and stream are due, in seconds since the topology was submitted.
 *
 * <p>The shape's time goes on whatever the rate is multiplied by: a factor raises the rate, and
 * leaves the length of a burst or a season alone.
 */
interface Schedule {
    /** When the next tuple is due after that time, at so many times the rate. */
    double next(double after, double factor);

    /** When the first tuple is due for a source that begins, or begins anew, at that time. */
    default double first(double now, double factor) {
        return next(now, factor);
    }

    /** The schedule of an emission that has due times, at one task's rate. */
    static Schedule of(Emission emission, double perSecond, RandomGenerator random) {
        return switch (emission.shape()) {
            case "regular" -> new Regular(perSecond, random);
            case "poisson" -> new Segments(perSecond, Segments.STEADY, false, random);
            case "burst" -> new Segments(
                    perSecond, emission.segments(), emission.random(), random);
            case "modulated" -> new Segments(perSecond, emission.segments(), true, random);
            case "recorded" -> new Segments(perSecond, emission.segments(), false, random);
            case "seasonal", "sawtooth" -> new Curved(perSecond, emission.curve(), random);
            default -> throw new ProgramException(
                    "shape", emission.shape(), "a shape with due times");
        };
    }

    /** Equal gaps, from a random phase so that tasks do not emit in step. */
    record Regular(double perSecond, RandomGenerator random) implements Schedule {
        @Override
        public double next(double after, double factor) {
            return after + 1.0 / (perSecond * factor);
        }

        @Override
        public double first(double now, double factor) {
            return now + random.nextDouble() / (perSecond * factor);
        }
    }

    /** Poisson at a rate that follows a curve, thinned from its peak (Lewis and Shedler 1979). */
    record Curved(double perSecond, Curve curve, RandomGenerator random) implements Schedule {
        @Override
        public double next(double after, double factor) {
            double due = after;
            do {
                due += random.nextExponential() / (perSecond * factor * curve.peak());
            } while (random.nextDouble() * curve.peak() >= curve.at(due)
                    && due < Double.POSITIVE_INFINITY);
            return due;
        }
    }
}
