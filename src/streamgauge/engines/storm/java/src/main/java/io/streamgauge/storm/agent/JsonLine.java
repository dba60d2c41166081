package io.streamgauge.storm.agent;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** One JSON object on a line, in ASCII; what is null is left out. */
final class JsonLine {
    private static final double MOST_WHOLE = 9007199254740992.0;
    private final StringBuilder text = new StringBuilder(512);

    /** Begins a record of version 1, which ends the one before. */
    JsonLine begin(String type) {
        return begin(type, 1);
    }

    /** Begins a record, which ends the one before. */
    JsonLine begin(String type, int version) {
        text.setLength(0);
        text.append("{\"type\":\"").append(type).append("\",\"v\":").append(version);
        return this;
    }

    JsonLine put(String key, String value) {
        if (value != null) {
            key(key);
            quote(value);
        }
        return this;
    }

    JsonLine put(String key, long value) {
        key(key);
        text.append(value);
        return this;
    }

    JsonLine put(String key, double value) {
        key(key);
        number(value);
        return this;
    }

    /** A list of names. */
    JsonLine putNames(String key, List<String> names) {
        return putList(key, names, this::quote);
    }

    /** A list of numbers. */
    JsonLine putNumbers(String key, List<? extends Number> numbers) {
        return putList(key, numbers, one -> number(one.doubleValue()));
    }

    private <T> JsonLine putList(String key, List<T> parts, Consumer<T> writer) {
        key(key);
        char separator = '[';
        for (T part : parts) {
            text.append(separator);
            writer.accept(part);
            separator = ',';
        }
        text.append(parts.isEmpty() ? "[]" : "]");
        return this;
    }

    /** A list of objects, each written by `writer`. */
    <T> JsonLine putObjects(String key, List<T> parts, BiConsumer<T, JsonLine> writer) {
        key(key);
        text.append('[');
        String separator = "{";
        for (T part : parts) {
            text.append(separator);
            writer.accept(part, this);
            separator = "},{";
        }
        text.append(parts.isEmpty() ? "]" : "}]");
        return this;
    }

    /** The line, with its end. */
    String end() {
        return text.append("}\n").toString();
    }

    private void number(double value) {
        if (value == Math.rint(value) && Math.abs(value) < MOST_WHOLE) {
            text.append((long) value);
        } else {
            text.append(value);
        }
    }

    private void key(String key) {
        if (text.charAt(text.length() - 1) != '{') {
            text.append(',');
        }
        text.append('"').append(key).append("\":");
    }

    private void quote(String value) {
        text.append('"');
        for (int place = 0; place < value.length(); place++) {
            char letter = value.charAt(place);
            if (letter == '"' || letter == '\\') {
                text.append('\\').append(letter);
            } else if (letter < ' ' || letter > '~') {
                text.append(String.format("\\u%04x", (int) letter));
            } else {
                text.append(letter);
            }
        }
        text.append('"');
    }
}
