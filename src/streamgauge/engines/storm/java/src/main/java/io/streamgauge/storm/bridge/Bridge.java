package io.streamgauge.storm.bridge;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.ToNumberPolicy;
import com.google.gson.reflect.TypeToken;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.storm.Config;
import org.apache.storm.utils.Utils;

/**
 * Speaks to nimbus on behalf of another program: JSON lines in, JSON lines out.
 *
 * <p>One process serves many requests, as a start of Java costs more than any of them. It ends when
 * its input does, even while nimbus keeps a request waiting.
 */
public final class Bridge {
    private static final Gson GSON = new GsonBuilder()
            .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
            .serializeSpecialFloatingPointValues()
            .disableHtmlEscaping()
            .create();

    private final Verbs verbs;
    private final PrintStream answers;

    Bridge(Verbs verbs, PrintStream answers) {
        this.verbs = verbs;
        this.answers = answers;
    }

    /** Arguments: host and port of nimbus, and how long to wait for it in milliseconds. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Whatever prints to standard output must not come between the answers.
        System.setOut(System.err);
        Map<String, Object> settings =
                settings(arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        Bridge bridge = new Bridge(new Verbs(settings), answers);
        ExecutorService worker = Executors.newSingleThreadExecutor();
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String request = line;
            worker.execute(() -> bridge.answer(request));
        }
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> settings(String host, int port, int timeoutMillis) {
        Map<String, Object> settings = new HashMap<>(Utils.readDefaultConfig());
        settings.put(Config.NIMBUS_SEEDS, java.util.List.of(host));
        settings.put(Config.NIMBUS_THRIFT_PORT, port);
        settings.put(Config.STORM_THRIFT_SOCKET_TIMEOUT_MS, timeoutMillis);
        // Whoever asks decides how often to try.
        settings.put(Config.STORM_NIMBUS_RETRY_TIMES, 1);
        settings.put(Config.STORM_NIMBUS_RETRY_INTERVAL, 100);
        settings.put(Config.STORM_NIMBUS_RETRY_INTERVAL_CEILING, 100);
        return settings;
    }

    /** Answers one request with exactly one line. */
    void answer(String line) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            Map<String, Object> request =
                    GSON.fromJson(line, new TypeToken<Map<String, Object>>() { }.getType());
            answer.put("id", request.get("id"));
            answer.put("ok", verbs.perform(String.valueOf(request.get("do")), request));
        } catch (Failure failure) {
            answer.put("error", Map.of(
                    "kind", failure.kind().word(), "message", String.valueOf(failure.getMessage())));
        } catch (JsonParseException error) {
            answer.put("error", Map.of("kind", "refused", "message", "no JSON: " + error.getMessage()));
        } catch (RuntimeException | LinkageError error) {
            answer.put("error", Map.of("kind", "internal", "message", String.valueOf(error)));
        }
        answers.println(GSON.toJson(answer));
    }
}
