package io.streamgauge.storm.topology;

import java.io.Serializable;
import java.util.random.RandomGenerator;

/** A distribution of times, sizes or counts, drawn from with a task's own random numbers. */
sealed interface Distribution extends Serializable {
    double draw(RandomGenerator random);

    double mean();

    static Distribution read(Place place) {
        String kind = place.at("kind").text();
        return switch (kind) {
            case "constant" -> new Constant(place.at("value").amount());
            case "exponential" -> new Exponential(place.at("mean").amount());
            case "gamma" -> new Gamma(place.at("mean").amount(), place.at("scv").amount());
            case "lognormal" -> new Lognormal(place.at("mean").amount(), place.at("scv").amount());
            case "uniform" -> new Uniform(place.at("low").amount(), place.at("high").amount());
            case "table" -> Table.read(place);
            default -> throw place.at("kind").wrong(
                    "constant, exponential, gamma, lognormal, uniform or table");
        };
    }

    /** Always the same. */
    record Constant(double value) implements Distribution {
        @Override
        public double draw(RandomGenerator random) {
            return value;
        }

        @Override
        public double mean() {
            return value;
        }
    }

    /** Without memory. */
    record Exponential(double mean) implements Distribution {
        @Override
        public double draw(RandomGenerator random) {
            return mean * random.nextExponential();
        }
    }

    /** Gamma by mean and squared coefficient of variation: its shape is 1/scv. */
    record Gamma(double mean, double scv) implements Distribution {
        @Override
        public double draw(RandomGenerator random) {
            double shape = 1.0 / scv;
            if (shape >= 1.0) {
                return mean * scv * standard(shape, random);
            }
            // A gamma of shape + 1, times a uniform to the power 1/shape.
            double boost = Math.pow(1.0 - random.nextDouble(), 1.0 / shape);
            return mean * scv * standard(shape + 1.0, random) * boost;
        }

        /** Marsaglia and Tsang (2000), for shapes of at least one. */
        private static double standard(double shape, RandomGenerator random) {
            double d = shape - 1.0 / 3.0;
            double c = 1.0 / Math.sqrt(9.0 * d);
            while (true) {
                double x = random.nextGaussian();
                double root = 1.0 + c * x;
                if (root <= 0.0) {
                    continue;
                }
                double v = root * root * root;
                double logarithm = Math.log(1.0 - random.nextDouble());
                if (logarithm < 0.5 * x * x + d - d * v + d * Math.log(v)) {
                    return d * v;
                }
            }
        }
    }

    /** Lognormal by mean and squared coefficient of variation. */
    record Lognormal(double mean, double scv) implements Distribution {
        @Override
        public double draw(RandomGenerator random) {
            double spread = Math.log1p(scv);
            double centre = Math.log(mean) - spread / 2.0;
            return Math.exp(centre + Math.sqrt(spread) * random.nextGaussian());
        }
    }

    /** Evenly between two values. */
    record Uniform(double low, double high) implements Distribution {
        @Override
        public double draw(RandomGenerator random) {
            return low + (high - low) * random.nextDouble();
        }

        @Override
        public double mean() {
            return (low + high) / 2.0;
        }
    }

    /** Values, and the probability that each is not exceeded. */
    record Table(double[] values, double[] cumulative) implements Distribution {
        static Table read(Place place) {
            double[] values = place.at("values").amounts();
            double[] cumulative = place.at("cumulative").amounts();
            if (values.length == 0 || values.length != cumulative.length) {
                throw place.at("cumulative").wrong("as many as values, and at least one");
            }
            return new Table(values, cumulative);
        }

        @Override
        public double draw(RandomGenerator random) {
            // Most operators give a fixed number of outputs: no random number is spent on it.
            return values.length == 1 ? values[0] : values[Draws.place(cumulative, random)];
        }

        @Override
        public double mean() {
            double sum = 0.0;
            double before = 0.0;
            for (int index = 0; index < values.length; index++) {
                sum += values[index] * (cumulative[index] - before);
                before = cumulative[index];
            }
            return sum;
        }
    }
}
