package io.streamgauge.storm.agent;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Lines as a reader sees them. */
final class Lines {
    private static final Map<String, String> LISTS =
        Map.of("metrics", "metric", "bins", "bin", "values", "value", "counts", "count");

    private Lines() {
    }

    /** A line for each sample, with its value and its count at the end. */
    static List<String> oneByOne(List<String> lines) {
        List<String> samples = new ArrayList<>();
        for (String line : lines) {
            JsonObject found = JsonParser.parseString(line).getAsJsonObject();
            JsonArray values = found.getAsJsonArray("values");
            if (!found.has("counts")) {
                found.add("counts", values);
            }
            for (int place = 0; place < values.size(); place++) {
                JsonObject sample = new JsonObject();
                for (String key : found.keySet()) {
                    if (LISTS.containsKey(key)) {
                        sample.add(LISTS.get(key), found.getAsJsonArray(key).get(place));
                    } else {
                        sample.add(key, found.get(key));
                    }
                }
                samples.add(sample + "\n");
            }
        }
        return samples;
    }
}
