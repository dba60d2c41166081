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
        long mixed = scatter(seed);
        mixed = scatter(mixed ^ component.hashCode());
        mixed = scatter(mixed ^ taskIndex);
        mixed = scatter(mixed ^ purpose.hashCode());
        return new SplittableRandom(mixed);
    }

    /**
     * Takes numbers that are near each other far apart (the last step of MurmurHash3). A generator
     * walks along a line of seeds: of two that are a step apart, one repeats the other's numbers.
     */
    private static long scatter(long near) {
        long mixed = (near ^ (near >>> 33)) * 0xFF51AFD7ED558CCDL;
        mixed = (mixed ^ (mixed >>> 33)) * 0xC4CEB9FE1A85EC53L;
        return mixed ^ (mixed >>> 33);
    }

    /** The first place whose cumulative share is above a random number. */
    static int place(double[] cumulative, RandomGenerator random) {
        int found = Arrays.binarySearch(cumulative, random.nextDouble());
        // A number that stands in the table belongs to the next place.
        int place = found >= 0 ? found + 1 : -found - 1;
        return Math.min(place, cumulative.length - 1);
    }
}
