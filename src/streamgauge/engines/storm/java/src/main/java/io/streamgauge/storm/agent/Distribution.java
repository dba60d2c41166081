package io.streamgauge.storm.agent;

import java.util.concurrent.atomic.AtomicLongArray;

/** Sum, sum of squares and histogram of whole numbers, to which any thread adds. */
final class Distribution {
    private static final int SUM = 0;
    // Squares of nanoseconds outgrow a long within seconds; whole numbers stay whole in doubles.
    private static final int SQUARES = 1;
    private static final int FIRST_BIN = 2;

    private volatile AtomicLongArray cells;
    private long[] taken;

    void add(long value) {
        AtomicLongArray now = cells;
        if (now == null) {
            now = begun();
        }
        now.getAndAdd(SUM, value);
        double square = (double) value * value;
        long before;
        do {
            before = now.getPlain(SQUARES);
        } while (!now.compareAndSet(SQUARES, before, added(before, square)));
        now.getAndIncrement(FIRST_BIN + Bins.of(value));
    }

    private static long added(long bits, double square) {
        return Double.doubleToRawLongBits(Double.longBitsToDouble(bits) + square);
    }

    private synchronized AtomicLongArray begun() {
        if (cells == null) {
            cells = new AtomicLongArray(FIRST_BIN + Bins.COUNT);
        }
        return cells;
    }

    /** What was added since the last call, or null if nothing was; by the agent's thread only. */
    Growth take() {
        AtomicLongArray now = cells;
        if (now == null) {
            return null;
        }
        if (taken == null) {
            taken = new long[now.length()];
        }
        long[] grown = new long[Bins.COUNT];
        long count = 0;
        for (int bin = 0; bin < Bins.COUNT; bin++) {
            grown[bin] = grownAt(now, FIRST_BIN + bin);
            count += grown[bin];
        }
        if (count == 0) {
            // A sum whose observation is not in its bin yet waits for the next bucket.
            return null;
        }
        double squaresBefore = Double.longBitsToDouble(taken[SQUARES]);
        taken[SQUARES] = now.get(SQUARES);
        double squares = Double.longBitsToDouble(taken[SQUARES]) - squaresBefore;
        return new Growth(count, grownAt(now, SUM), squares, grown);
    }

    private long grownAt(AtomicLongArray now, int place) {
        long before = taken[place];
        taken[place] = now.get(place);
        return taken[place] - before;
    }

    /** What a bucket added: observations, their sum, their squares, and them by bin. */
    record Growth(long count, long sum, double squares, long[] bins) {
    }
}
