package io.streamgauge.storm.topology;

import java.io.Serializable;

/** A rate as a smooth function of time, in multiples of its mean. */
sealed interface Curve extends Serializable {
    double at(double seconds);

    double peak();

    /** A sine about one, which it crosses upward at the phase. */
    record Sine(double period, double amplitude, double phase) implements Curve {
        @Override
        public double at(double seconds) {
            return 1.0 + amplitude * Math.sin(2.0 * Math.PI * (seconds - phase) / period);
        }

        @Override
        public double peak() {
            return 1.0 + amplitude;
        }
    }

    /** From zero to two in a straight line, then again; from two to zero in reverse. */
    record Ramp(double period, boolean reverse) implements Curve {
        @Override
        public double at(double seconds) {
            double elapsed = seconds / period - Math.floor(seconds / period);
            return 2.0 * (reverse ? 1.0 - elapsed : elapsed);
        }

        @Override
        public double peak() {
            return 2.0;
        }
    }
}
