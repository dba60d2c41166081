package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RootsTest {
    private final SplittableRandom random = new SplittableRandom(5);

    private static List<Long> dueTimes(byte[] roots) {
        List<Long> due = new ArrayList<>();
        Roots.visit(roots, (source, clock, at, emitted) -> due.add(at));
        return due;
    }

    @Test
    void aRootIsReadAsItWasWritten() {
        List<Long> seen = new ArrayList<>();
        Roots.visit(Roots.one(2, -7, 11L, 13L), (source, clock, due, emitted) ->
                seen.addAll(List.of((long) source, (long) clock, due, emitted)));
        assertEquals(List.of(2L, -7L, 11L, 13L), seen);
    }

    @Test
    void aResultHasTheRootsOfAllItsTuples() {
        byte[] two = Roots.join(
                List.of(Roots.one(0, 1, 10L, 0L), Roots.one(0, 1, 20L, 0L)), random);
        byte[] three = Roots.join(List.of(two, Roots.one(0, 1, 30L, 0L)), random);
        assertEquals(List.of(10L, 20L, 30L), dueTimes(three));
        assertSame(two, Roots.join(List.of(two), random));
    }

    @Test
    void beyondTheMostAnEvenPickStandsForAll() {
        List<byte[]> several = new ArrayList<>();
        for (long due = 0; due < 10L * Roots.MOST; due++) {
            several.add(Roots.one(0, 1, due, 0L));
        }
        List<Long> kept = dueTimes(Roots.join(several, random));
        assertEquals(Roots.MOST, new HashSet<>(kept).size());
        double mean = kept.stream().mapToLong(Long::longValue).average().orElseThrow();
        assertTrue(Math.abs(mean - 5.0 * Roots.MOST) < 0.5 * Roots.MOST, "mean " + mean);
    }
}
