package io.streamgauge.storm.topology;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/** Random numbers: a stream of them for each purpose of each task, and choices by table. */
final class Draws {
    private Draws() {
    }

    /** Numbers of one purpose of one task; other tasks and purposes have others. */
    static RandomGenerator of(long seed, String component, int taskIndex, String purpose) {
        long mixed = seed;
        mixed = mixed * 0x9E3779B97F4A7C15L + component.hashCode();
        mixed = mixed * 0x9E3779B97F4A7C15L + taskIndex;
        mixed = mixed * 0x9E3779B97F4A7C15L + purpose.hashCode();
        return new SplittableRandom(mixed);
    }

    /** The first place whose cumulative share is above a random number. */
    static int place(double[] cumulative, RandomGenerator random) {
        int found = Arrays.binarySearch(cumulative, random.nextDouble());
        // A number that stands in the table belongs to the next place.
        int place = found >= 0 ? found + 1 : -found - 1;
        return Math.min(place, cumulative.length - 1);
    }
}
