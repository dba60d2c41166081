package io.streamgauge.storm.agent;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.DoubleAdder;

/** Sum, sum of squares and histogram of whole numbers, to which any thread adds. */
final class Distribution {
    private final Count sum = new Count();
    // Squares of nanoseconds outgrow a long within seconds; whole numbers stay whole in doubles.
    private final DoubleAdder squares = new DoubleAdder();
    private volatile AtomicLongArray bins;
    private double squaresTaken;
    private long[] binsTaken;

    void add(long value) {
        sum.add(value);
        squares.add((double) value * value);
        AtomicLongArray counts = bins;
        if (counts == null) {
            counts = begun();
        }
        counts.getAndIncrement(Bins.of(value));
    }

    private synchronized AtomicLongArray begun() {
        if (bins == null) {
            bins = new AtomicLongArray(Bins.COUNT);
        }
        return bins;
    }

    /** What was added since the last call, or null if nothing was; by the agent's thread only. */
    Growth take() {
        AtomicLongArray counts = bins;
        if (counts == null) {
            return null;
        }
        if (binsTaken == null) {
            binsTaken = new long[Bins.COUNT];
        }
        long[] grown = new long[Bins.COUNT];
        long count = 0;
        for (int bin = 0; bin < Bins.COUNT; bin++) {
            long now = counts.get(bin);
            grown[bin] = now - binsTaken[bin];
            binsTaken[bin] = now;
            count += grown[bin];
        }
        if (count == 0) {
            // A sum whose observation is not in its bin yet waits for the next bucket.
            return null;
        }
        double squaresNow = squares.sum();
        Growth growth = new Growth(count, sum.take(), squaresNow - squaresTaken, grown);
        squaresTaken = squaresNow;
        return growth;
    }

    /** What a bucket added: observations, their sum, their squares, and them by bin. */
    record Growth(long count, long sum, double squares, long[] bins) {
    }
}
