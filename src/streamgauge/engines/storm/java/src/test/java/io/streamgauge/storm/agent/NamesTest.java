package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class NamesTest {
    @Test
    void executorsAreNamedByTheirTasks() {
        assertEquals("split[7-8]", Names.executor("split", 7, 8));
        assertEquals("split[7]", Names.executor("split", 7, 7));
    }

    @Test
    void executorsAreFoundByTheNamesOfTheirThreads() {
        String name = Names.executorThread("Thread-21-split-executor[10, 11]");
        assertEquals(Names.executorThread("split", 10, 11), name);
        assertNull(Names.executorThread("Worker-Transfer"));
    }

    @Test
    void streamsOfTheEngineDoNotCountButForTheAckers() {
        assertTrue(Names.isCounted("words"));
        assertTrue(Names.isCounted("__ack_init"));
        assertFalse(Names.isCounted("__metrics"));
    }

    @Test
    void loopbackNodesShareTheMachine() {
        assertTrue(Names.isLoopback("127.0.0.3"));
        assertFalse(Names.isLoopback("192.0.2.1"));
    }

    @Test
    void filesHaveNoSlashes() {
        assertEquals("a_b-1.c", Names.inFile("a/b-1.c"));
    }

    @Test
    void linesAreAsciiAndWholeNumbersHaveNoPoint() {
        String line = new JsonLine().begin("event").put("name", "a\"\\\n\u00fc").put("value", 2.0)
            .put("other", 0.25).put("none", (String) null).end();
        assertEquals("{\"type\":\"event\",\"v\":1,\"name\":\"a\\\"\\\\\\u000a\\u00fc\",\"value\":2,"
            + "\"other\":0.25}\n", line);
    }
}
