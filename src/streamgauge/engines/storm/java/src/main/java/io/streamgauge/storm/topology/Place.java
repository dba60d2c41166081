package io.streamgauge.storm.topology;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/** A place in a JSON document: its value, and the way there for whoever has to mend it. */
final class Place {
    private final String path;
    private final JsonElement element;

    private Place(String path, JsonElement element) {
        this.path = path;
        this.element = element;
    }

    static Place root(String text) {
        try {
            return new Place("", JsonParser.parseString(text));
        } catch (JsonParseException error) {
            String reason = error.getMessage().lines().findFirst().orElse("");
            throw new ProgramException("", "no JSON (" + reason + ")", "a JSON document");
        }
    }

    /** What lies under a key that must be there. */
    Place at(String key) {
        return maybe(key).orElseThrow(() -> new ProgramException(below(key), "nothing", "a value"));
    }

    Optional<Place> maybe(String key) {
        JsonElement found = object().get(key);
        if (found == null || found.isJsonNull()) {
            return Optional.empty();
        }
        return Optional.of(new Place(below(key), found));
    }

    boolean has(String key) {
        return maybe(key).isPresent();
    }

    /** Every item of a list, read in the same way. */
    <T> List<T> each(Function<Place, T> read) {
        if (!element.isJsonArray()) {
            throw wrong("a list");
        }
        JsonArray array = element.getAsJsonArray();
        List<T> items = new ArrayList<>(array.size());
        for (int index = 0; index < array.size(); index++) {
            items.add(read.apply(new Place(path + "[" + index + "]", array.get(index))));
        }
        return items;
    }

    String text() {
        return primitive(JsonPrimitive::isString, "a text").getAsString();
    }

    boolean flag() {
        return primitive(JsonPrimitive::isBoolean, "true or false").getAsBoolean();
    }

    double number() {
        return primitive(JsonPrimitive::isNumber, "a number").getAsDouble();
    }

    /** A number that must not be below zero. */
    double amount() {
        double number = number();
        if (!(number >= 0.0 && number < Double.POSITIVE_INFINITY)) {
            throw wrong("a finite number of at least 0");
        }
        return number;
    }

    int whole(int least) {
        double number = number();
        if (number != Math.rint(number) || number < least || number > Integer.MAX_VALUE) {
            throw wrong("a whole number of at least " + least);
        }
        return (int) number;
    }

    long wholeLong() {
        return primitive(JsonPrimitive::isNumber, "a whole number").getAsBigDecimal().longValue();
    }

    double[] amounts() {
        return each(Place::amount).stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** Plain values by key, as Storm's configuration takes them. */
    Map<String, Object> settings() {
        Map<String, Object> settings = new TreeMap<>();
        for (String key : object().keySet()) {
            settings.put(key, at(key).setting());
        }
        return settings;
    }

    ProgramException wrong(String expected) {
        return new ProgramException(path, element.toString(), expected);
    }

    private Object setting() {
        JsonPrimitive value = primitive(one -> true, "a number, a text, true or false");
        if (value.isBoolean()) {
            return value.getAsBoolean();
        }
        if (value.isString()) {
            return value.getAsString();
        }
        double number = value.getAsDouble();
        // Storm refuses 5.0 where it wants a whole number.
        if (number == Math.rint(number) && Math.abs(number) < 1L << 53) {
            return (long) number;
        }
        return number;
    }

    private JsonObject object() {
        if (!element.isJsonObject()) {
            throw wrong("an object");
        }
        return element.getAsJsonObject();
    }

    private JsonPrimitive primitive(Function<JsonPrimitive, Boolean> fits, String expected) {
        if (!element.isJsonPrimitive() || !fits.apply(element.getAsJsonPrimitive())) {
            throw wrong(expected);
        }
        return element.getAsJsonPrimitive();
    }

    private String below(String key) {
        return path.isEmpty() ? key : path + "." + key;
    }
}
