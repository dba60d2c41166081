package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class KeysTest {
    private static final int COUNT = 200_000;

    private static Keys keys(String json) {
        return new Keys(KeyRule.read(Place.root(json)));
    }

    private static Map<String, Integer> drawn(Keys keys) {
        SplittableRandom random = new SplittableRandom(3);
        Map<String, Integer> counts = new HashMap<>();
        for (int index = 0; index < COUNT; index++) {
            counts.merge(keys.draw(random), 1, Integer::sum);
        }
        return counts;
    }

    private static double share(Map<String, Integer> counts, String key) {
        return counts.getOrDefault(key, 0) / (double) COUNT;
    }

    @Test
    void evenKeysAreNumberedToOneWidthAndEquallyFrequent() {
        Map<String, Integer> counts = drawn(keys("{\"count\": 12, \"naming\": \"numbered\", "
                + "\"prefix\": \"word\", \"sharing\": \"even\"}"));
        assertEquals(12, counts.size());
        assertEquals(1.0 / 12.0, share(counts, "word07"), 0.005);
    }

    @Test
    void zipfsSharesFallAsThePowerOfTheRank() {
        Map<String, Integer> counts = drawn(keys("{\"count\": 3, \"naming\": \"numbered\", "
                + "\"prefix\": \"k\", \"sharing\": \"zipf\", \"exponent\": 1.0}"));
        assertEquals(6.0 / 11.0, share(counts, "k0"), 0.01);
        assertEquals(2.0 / 11.0, share(counts, "k2"), 0.01);
    }

    @Test
    void listedKeysComeByTheirTable() {
        Map<String, Integer> counts = drawn(keys("{\"count\": 2, \"naming\": \"listed\", "
                + "\"names\": [\"A\", \"B\"], "
                + "\"sharing\": \"table\", \"cumulative\": [0.3, 1.0]}"));
        assertEquals(0.3, share(counts, "A"), 0.01);
        assertEquals(0.7, share(counts, "B"), 0.01);
    }

    @Test
    void lettersCountWithTheLastFastest() {
        Keys keys = keys("{\"count\": 100, \"naming\": \"letters\", \"length\": 3, "
                + "\"sharing\": \"even\"}");
        assertEquals("aaa", keys.name(0));
        assertEquals("aaz", keys.name(25));
        assertEquals("aba", keys.name(26));
    }

    @Test
    void aTableOfAnotherLengthIsRefused() {
        ProgramException error = assertThrows(ProgramException.class, () -> keys(
                "{\"count\": 3, \"naming\": \"numbered\", \"prefix\": \"k\", "
                        + "\"sharing\": \"table\", \"cumulative\": [1.0]}"));
        assertTrue(error.getMessage().contains("expected 3 shares"));
    }
}
