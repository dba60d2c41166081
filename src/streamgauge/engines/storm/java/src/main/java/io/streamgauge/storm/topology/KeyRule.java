package io.streamgauge.storm.topology;

import java.io.Serializable;
import java.util.List;

/**
 * How a stream's keys are named and how often each comes, as the program says it.
 *
 * @param naming how names are made: numbered, letters or listed
 * @param width digits, or letters, of a name
 * @param names the names, where they are listed
 * @param exponent of Zipf's law; 0 where all keys are equally frequent
 * @param cumulative shares up to each key, where there is no rule for them
 */
record KeyRule(
        int count,
        String naming,
        String prefix,
        int width,
        List<String> names,
        double exponent,
        double[] cumulative) implements Serializable {

    static KeyRule read(Place place) {
        int count = place.at("count").whole(1);
        String naming = place.at("naming").text();
        String prefix = "";
        int width = 0;
        List<String> names = List.of();
        switch (naming) {
            case "numbered" -> {
                prefix = place.at("prefix").text();
                width = Integer.toString(count - 1).length();
            }
            case "letters" -> width = place.at("length").whole(1);
            case "listed" -> names = place.at("names").each(Place::text);
            default -> throw place.at("naming").wrong("numbered, letters or listed");
        }
        double exponent = 0.0;
        double[] cumulative = null;
        switch (place.at("sharing").text()) {
            case "even" -> { }
            case "zipf" -> exponent = place.at("exponent").amount();
            case "table" -> cumulative = place.at("cumulative").amounts();
            default -> throw place.at("sharing").wrong("even, zipf or table");
        }
        if (naming.equals("listed") && names.size() != count) {
            throw place.at("names").wrong(count + " names");
        }
        if (cumulative != null && cumulative.length != count) {
            throw place.at("cumulative").wrong(count + " shares");
        }
        return new KeyRule(
                count, naming, prefix, width, List.copyOf(names), exponent, cumulative);
    }
}
