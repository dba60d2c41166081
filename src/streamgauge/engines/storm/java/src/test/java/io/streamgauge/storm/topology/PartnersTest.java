package io.streamgauge.storm.topology;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class PartnersTest {
    private final Partners<String> partners = new Partners<>(2, 100);

    @Test
    void aSetIsCompleteOnceEveryInputHasBroughtTheKey() {
        assertEquals(List.of(), partners.add("k", 0, "left", 0));
        assertEquals(List.of(), partners.add("other", 1, "stranger", 1));
        assertEquals(List.of("left", "right"), partners.add("k", 1, "right", 2));
        assertEquals(List.of(), partners.add("k", 1, "next", 3));
    }

    @Test
    void theOldestOfAnInputIsTakenFirst() {
        partners.add("k", 0, "first", 0);
        partners.add("k", 0, "second", 1);
        assertEquals(List.of("first", "right"), partners.add("k", 1, "right", 2));
    }

    @Test
    void whoWaitedTooLongIsDroppedAndFindsNobody() {
        partners.add("k", 0, "old", 0);
        partners.add("k", 0, "young", 50);
        assertEquals(List.of("old"), partners.drop(100));
        assertEquals(List.of("young", "right"), partners.add("k", 1, "right", 101));
        assertEquals(List.of(), partners.drop(1000));
    }
}
