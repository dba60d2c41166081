package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.streamgauge.storm.agent.Trace;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrailTest {
    private static final long SECOND = 1_000_000_000L;

    private static Trail begun() {
        return new Trail(0xabcL, 0, List.of(
                new Trail.Hop("in", 3, "", "", 100 * SECOND, 101 * SECOND, 102 * SECOND)));
    }

    private static Trail.Hop hop(int task) {
        return new Trail.Hop(
                "wörk", task, "default", "kéy", 103 * SECOND, 103 * SECOND, 104 * SECOND);
    }

    @Test
    void aTrailSurvivesItsBytes() {
        Trail trail = begun().then(hop(5)).fork(2);
        assertEquals(trail, Trail.of(trail.bytes()));
    }

    @Test
    void theFirstBranchKeepsItsNumberAndOthersGetTheirOwn() {
        Trail trail = begun().then(hop(5));
        assertEquals(0, trail.fork(0).number());
        Set<Integer> numbers = new HashSet<>();
        for (int branch = -50; branch < 50; branch++) {
            for (int next = -50; next < 50; next++) {
                numbers.add(trail.fork(branch).then(hop(6)).fork(next).number());
            }
        }
        assertEquals(100 * 100, numbers.size());
        assertNotEquals(trail.fork(1).fork(-2).number(), trail.fork(2).fork(-1).number());
    }

    @Test
    void aTraceCountsFromTheEmissionAndShowsHowLateItWas() {
        Trace trace = Station.trace(begun().then(hop(5)), "arrived");
        assertEquals("abc", trace.root());
        assertEquals(102_000_000L, trace.startedAtMicros());
        assertEquals(-2 * SECOND, trace.hops().get(0).arrivedNanos());
        assertEquals(0, trace.hops().get(0).finishedNanos());
        assertNull(trace.hops().get(0).stream());
        assertEquals(2 * SECOND, trace.latencyNanos());
        assertEquals("kéy", trace.hops().get(1).key());
    }
}
