package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ScheduleTest {
    private static final double RATE = 50.0;

    private static Schedule schedule(String shape) {
        String json = "{\"stream\": \"default\", \"per_second\": [" + RATE + "], " + shape + "}";
        Emission emission = Emission.read(Place.root(json), 1);
        return Schedule.of(emission, RATE, new SplittableRandom(7));
    }

    /** Tuples due in a part of each period, for so many periods. */
    private static long due(
            Schedule schedule, double factor, double until, double period, double from, double to) {
        long count = 0;
        double due = schedule.first(0.0, factor);
        for (; due < until; due = schedule.next(due, factor)) {
            double phase = due % period;
            count += phase >= from && phase < to ? 1 : 0;
        }
        return count;
    }

    private static void assertNear(double expected, double seen) {
        // Five deviations of a Poisson count.
        assertEquals(expected, seen, 5.0 * Math.sqrt(expected) + 1.0);
    }

    @Test
    void regularTuplesHaveEqualGaps() {
        Schedule schedule = schedule("\"shape\": \"regular\"");
        double first = schedule.first(3.0, 1.0);
        assertTrue(first > 3.0 && first <= 3.0 + 1.0 / RATE);
        assertEquals(first + 1.0 / RATE, schedule.next(first, 1.0), 1e-12);
        assertEquals(first + 0.5 / RATE, schedule.next(first, 2.0), 1e-12);
    }

    @Test
    void poissonGapsHaveTheMeanAndVarianceOfTheExponential() {
        Schedule schedule = schedule("\"shape\": \"poisson\"");
        double sum = 0.0;
        double squares = 0.0;
        double last = 0.0;
        int count = 200_000;
        for (int index = 0; index < count; index++) {
            double due = schedule.next(last, 1.0);
            sum += due - last;
            squares += (due - last) * (due - last);
            last = due;
        }
        double mean = sum / count;
        assertEquals(1.0 / RATE, mean, 0.01 / RATE);
        assertEquals(1.0, squares / count / (mean * mean) - 1.0, 0.03);
    }

    @Test
    void burstsEmitOnlyWhileOnAndKeepTheMean() {
        String shape = "\"shape\": \"burst\", \"random\": false, "
                + "\"factors\": [4.0, 0.0], \"seconds\": [0.5, 1.5]";
        assertNear(RATE * 2000, due(schedule(shape), 1.0, 2000, 2.0, 0.0, 0.5));
        assertEquals(0, due(schedule(shape), 1.0, 2000, 2.0, 0.5, 2.0));
    }

    @Test
    void aLongPauseIsPassedInOneStep() {
        String shape = "\"shape\": \"burst\", \"random\": false, "
                + "\"factors\": [1e9, 0.0], \"seconds\": [1.0, 1e9]";
        double due = schedule(shape).next(1.0, 1.0);
        assertEquals(1e9 + 1.0, due, 1.0);
    }

    @Test
    void randomBurstsKeepTheMeanAndSpreadMoreThanPoisson() {
        String shape = "\"shape\": \"burst\", \"random\": true, "
                + "\"factors\": [4.0, 0.0], \"seconds\": [0.5, 1.5]";
        Schedule schedule = schedule(shape);
        double sum = 0.0;
        double squares = 0.0;
        double due = schedule.first(0.0, 1.0);
        int slots = 4000;
        for (int slot = 1; slot <= slots; slot++) {
            long count = 0;
            for (; due < 10.0 * slot; due = schedule.next(due, 1.0)) {
                count++;
            }
            sum += count;
            squares += (double) count * count;
        }
        double mean = sum / slots;
        assertEquals(10.0 * RATE, mean, 0.03 * 10.0 * RATE);
        assertTrue(squares / slots - mean * mean > 10.0 * mean);
    }

    @Test
    void modulatedRatesKeepTheMean() {
        String shape = "\"shape\": \"modulated\", "
                + "\"factors\": [0.5, 1.0, 2.0], \"seconds\": [0.2, 0.1, 0.1]";
        double mean = (0.5 * 0.2 + 1.0 * 0.1 + 2.0 * 0.1) / 0.4;
        long count = due(schedule(shape), 1.0, 4000, 1.0, 0.0, 1.0);
        assertEquals(RATE * mean * 4000, count, 0.02 * RATE * 4000);
    }

    @Test
    void recordedRatesFollowTheirBuckets() {
        String shape = "\"shape\": \"recorded\", "
                + "\"factors\": [0.5, 2.0, 0.5], \"seconds\": [2.0, 2.0, 2.0]";
        assertNear(RATE * 0.5 * 2 * 300, due(schedule(shape), 1.0, 1800, 6.0, 0.0, 2.0));
        assertNear(RATE * 2.0 * 2 * 300, due(schedule(shape), 1.0, 1800, 6.0, 2.0, 4.0));
    }

    @Test
    void seasonsFollowTheSine() {
        String shape = "\"shape\": \"seasonal\", \"period_seconds\": 8.0, \"amplitude\": 0.8, "
                + "\"phase_seconds\": 1.0";
        // From the upward crossing to the crest: the integral of 1 + 0.8 sin over a quarter.
        double expected = RATE * 250 * (2.0 + 0.8 * 8.0 / (2.0 * Math.PI));
        assertNear(expected, due(schedule(shape), 1.0, 2000, 8.0, 1.0, 3.0));
        assertNear(RATE * 2000, due(schedule(shape), 1.0, 2000, 8.0, 0.0, 8.0));
    }

    @Test
    void sawteethRiseAndReverseOnesFall() {
        String shape = "\"shape\": \"sawtooth\", \"period_seconds\": 4.0, \"reverse\": ";
        // In the last quarter of a period the rate is 1.75 times the mean, or 0.25 times.
        assertNear(RATE * 500 * 1.75, due(schedule(shape + false), 1.0, 2000, 4.0, 3.0, 4.0));
        assertNear(RATE * 500 * 0.25, due(schedule(shape + true), 1.0, 2000, 4.0, 3.0, 4.0));
    }

    @Test
    void aFactorRaisesTheRateAndLeavesThePeriodAlone() {
        String shape = "\"shape\": \"burst\", \"random\": false, "
                + "\"factors\": [2.0, 0.0], \"seconds\": [1.0, 1.0]";
        assertNear(3.0 * RATE * 1000, due(schedule(shape), 3.0, 1000, 2.0, 0.0, 1.0));
        assertEquals(0, due(schedule(shape), 3.0, 1000, 2.0, 1.0, 2.0));
    }

    @Test
    void nothingIsDueAtFactorZero() {
        for (String shape : new String[] {
            "\"shape\": \"regular\"",
            "\"shape\": \"poisson\"",
            "\"shape\": \"modulated\", \"factors\": [1.0, 2.0], \"seconds\": [1.0, 1.0]",
            "\"shape\": \"sawtooth\", \"period_seconds\": 4.0, \"reverse\": false",
        }) {
            assertEquals(Double.POSITIVE_INFINITY, schedule(shape).first(5.0, 0.0), shape);
        }
    }
}
