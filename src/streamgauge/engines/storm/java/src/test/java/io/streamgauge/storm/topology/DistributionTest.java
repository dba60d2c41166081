package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DistributionTest {
    private static Distribution read(String json) {
        return Distribution.read(Place.root(json));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"kind\": \"constant\", \"value\": 3.0}|3.0|0.0",
        "{\"kind\": \"exponential\", \"mean\": 2.0}|2.0|1.0",
        "{\"kind\": \"gamma\", \"mean\": 2.0, \"scv\": 0.5}|2.0|0.5",
        "{\"kind\": \"gamma\", \"mean\": 2.0, \"scv\": 3.0}|2.0|3.0",
        "{\"kind\": \"lognormal\", \"mean\": 5.0, \"scv\": 0.8}|5.0|0.8",
        "{\"kind\": \"uniform\", \"low\": 1.0, \"high\": 3.0}|2.0|0.0833333",
        "{\"kind\": \"table\", \"values\": [1, 4], \"cumulative\": [0.75, 1]}|1.75|0.5510204",
    })
    void drawsHaveTheMomentsOfTheirDistribution(String json, double mean, double scv) {
        Distribution distribution = read(json);
        SplittableRandom random = new SplittableRandom(11);
        double sum = 0.0;
        double squares = 0.0;
        int count = 400_000;
        for (int index = 0; index < count; index++) {
            double value = distribution.draw(random);
            sum += value;
            squares += value * value;
        }
        double seen = sum / count;
        assertEquals(mean, seen, 0.015 * mean);
        assertEquals(scv, squares / count / (seen * seen) - 1.0, 0.06 * scv + 1e-9);
        assertEquals(mean, distribution.mean(), 1e-9);
    }

    @Test
    void anUnknownKindIsRefusedByName() {
        ProgramException error =
                assertThrows(ProgramException.class, () -> read("{\"kind\": \"cauchy\"}"));
        assertTrue(error.getMessage().startsWith("kind: \"cauchy\"; expected constant"));
    }

    @Test
    void aTaskDrawsTheSameNumbersAgain() {
        assertEquals(
                Draws.of(1, "bolt", 0, "service").nextLong(),
                Draws.of(1, "bolt", 0, "service").nextLong());
    }

    @Test
    void noTaskOrPurposeRepeatsTheNumbersOfAnother() {
        Set<Long> seen = new HashSet<>();
        for (long seed = 1; seed <= 3; seed++) {
            for (int task = 0; task < 20; task++) {
                for (String purpose : List.of("service", "outputs", "a", "b")) {
                    RandomGenerator numbers = Draws.of(seed, "bolt", task, purpose);
                    numbers.longs(50).forEach(seen::add);
                }
            }
        }
        assertEquals(3 * 20 * 4 * 50, seen.size());
    }
}
