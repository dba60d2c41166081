package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class BinsTest {
    private static double edge(int bin) {
        return Math.scalb(Math.pow(2.0, bin % 8 / 8.0), bin / 8);
    }

    @Test
    void edgesBelongToTheBinAboveThem() {
        for (int bin = 0; bin < Bins.LAST; bin++) {
            assertEquals(bin + 1, Bins.of(edge(bin)));
            assertEquals(bin, Bins.of(Math.nextDown(edge(bin))));
        }
    }

    @Test
    void valuesLieWhereTheReceiverPutsThem() {
        long[] values = {
            0, 1, 2, 3, 9, 10, 99, 1000, 1090, 1091, 123456, 1_000_000, 999_999_999, 1_000_000_000,
            1L << 62, Long.MAX_VALUE,
        };
        int[] bins = {0, 1, 9, 13, 26, 27, 54, 80, 81, 81, 136, 160, 240, 240, 497, 505};
        for (int place = 0; place < values.length; place++) {
            assertEquals(bins[place], Bins.of(values[place]));
        }
    }

    @Test
    void whatHistogramsCannotHoldIsInTheFirstOrLastBin() {
        assertEquals(0, Bins.of(-5));
        assertEquals(0, Bins.of(Double.NaN));
        assertEquals(Bins.LAST, Bins.of(Double.MAX_VALUE));
        assertEquals(Bins.LAST, Bins.of(Double.POSITIVE_INFINITY));
    }
}
