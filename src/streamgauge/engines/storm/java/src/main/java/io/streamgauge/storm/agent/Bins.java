package io.streamgauge.storm.agent;

/** Bins of the raw format's histograms: eight to a doubling, edges by doubles. */
final class Bins {
    static final int LAST = 512;
    static final int COUNT = LAST + 1;

    private static final int PER_DOUBLING = 8;
    private static final double[] ROOTS = new double[PER_DOUBLING];

    static {
        for (int step = 0; step < PER_DOUBLING; step++) {
            ROOTS[step] = Math.pow(2.0, step / (double) PER_DOUBLING);
        }
    }

    private Bins() {
    }

    /** The bin that holds a value; below zero, which histograms cannot hold, the first. */
    static int of(double value) {
        if (!(value >= 1.0)) {
            return 0;
        }
        int doublings = Math.getExponent(value);
        if (doublings >= Double.MAX_EXPONENT) {
            return LAST;
        }
        // Dividing by a power of two is exact, so edges are the eight roots scaled.
        double rest = Math.scalb(value, -doublings);
        int step = PER_DOUBLING;
        while (rest < ROOTS[step - 1]) {
            step--;
        }
        return Math.min(PER_DOUBLING * doublings + step, LAST);
    }
}
