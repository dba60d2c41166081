package io.streamgauge.storm.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

class BridgeTest {
    @Test
    void aRequestIsAnsweredWithItsNumber() {
        assertEquals("{\"id\":7,\"ok\":{}}\n", answerTo("{\"id\": 7, \"do\": \"ping\"}"));
    }

    @Test
    void aLineThatIsNoRequestIsRefused() {
        assertTrue(answerTo("what?").contains("\"kind\":\"refused\""));
    }

    @Test
    void aNimbusThatDoesNotListenIsUnreachable() {
        String answer = answerTo("{\"id\": 1, \"do\": \"cluster\"}");
        assertTrue(answer.startsWith("{\"id\":1,\"error\""), answer);
        assertTrue(answer.contains("\"kind\":\"unreachable\""), answer);
    }

    private static String answerTo(String request) {
        Map<String, Object> settings = new HashMap<>(Utils.readDefaultConfig());
        settings.put(Config.NIMBUS_SEEDS, List.of("127.0.0.1"));
        // A port that nobody listens on.
        settings.put(Config.NIMBUS_THRIFT_PORT, 1);
        settings.put(Config.STORM_NIMBUS_RETRY_TIMES, 0);
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        PrintStream answers = new PrintStream(written, true, StandardCharsets.UTF_8);
        new Bridge(new Verbs(settings), answers).answer(request);
        return written.toString(StandardCharsets.UTF_8);
    }
}
