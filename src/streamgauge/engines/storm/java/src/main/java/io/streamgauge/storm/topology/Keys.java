package io.streamgauge.storm.topology;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;

/** Draws the keys of a stream. */
final class Keys {
    // Zipf's table of ten million keys is 80 MB: the tasks of a worker share it.
    private static final Map<String, double[]> ZIPF = new ConcurrentHashMap<>();
    private static final int MOST_KEPT_NAMES = 100_000;

    private final KeyRule rule;
    private final double[] cumulative;
    private final String[] kept;

    Keys(KeyRule rule) {
        this.rule = rule;
        this.cumulative = rule.exponent() > 0.0
                ? ZIPF.computeIfAbsent(rule.count() + "^" + rule.exponent(), any -> zipf(rule))
                : rule.cumulative();
        this.kept = new String[Math.min(rule.count(), MOST_KEPT_NAMES)];
    }

    String draw(RandomGenerator random) {
        return name(cumulative == null
                ? random.nextInt(rule.count())
                : Draws.place(cumulative, random));
    }

    String name(int number) {
        if (number >= kept.length) {
            return made(number);
        }
        if (kept[number] == null) {
            kept[number] = made(number);
        }
        return kept[number];
    }

    private String made(int number) {
        return switch (rule.naming()) {
            case "listed" -> rule.names().get(number);
            case "letters" -> letters(number);
            default -> numbered(number);
        };
    }

    private String numbered(int number) {
        String digits = Integer.toString(number);
        return rule.prefix() + "0".repeat(rule.width() - digits.length()) + digits;
    }

    /** Numerals to base 26, the last letter fastest. */
    private String letters(int number) {
        char[] letters = new char[rule.width()];
        int rest = number;
        for (int place = letters.length - 1; place >= 0; place--) {
            letters[place] = (char) ('a' + rest % 26);
            rest /= 26;
        }
        return new String(letters);
    }

    private static double[] zipf(KeyRule rule) {
        double[] reached = new double[rule.count()];
        double sum = 0.0;
        for (int place = 0; place < reached.length; place++) {
            sum += Math.pow(place + 1.0, -rule.exponent());
            reached[place] = sum;
        }
        for (int place = 0; place < reached.length; place++) {
            reached[place] /= sum;
        }
        return reached;
    }
}
