package io.streamgauge.storm.topology;

/** Small programs for tests. */
final class Programs {
    static final String NO_TIME = "{\"cpu_ms\": {\"kind\": \"constant\", \"value\": 0}, "
            + "\"wait_ms\": {\"kind\": \"constant\", \"value\": 0}}";

    private Programs() {
    }

    static String program(boolean acked, String sources, String bolts) {
        return "{\"streamgauge\": 1, \"topology\": \"t\", \"acked\": " + acked + ", \"seed\": 4, "
                + "\"trace_every\": 1, \"configuration\": {\"topology.workers\": 2, "
                + "\"topology.max.spout.pending\": 100.0}, \"sources\": [" + sources
                + "], \"bolts\": [" + bolts + "]}";
    }

    static String source(String name, String more, String emission) {
        return "{" + component(name, 2, "{\"name\": \"default\", \"bytes\": "
                + "{\"kind\": \"constant\", \"value\": 100}}")
                + ", \"service\": " + NO_TIME + ", \"replays\": " + more
                + ", \"emissions\": [{\"stream\": \"default\", " + emission + "}]}";
    }

    static String poisson(String name) {
        return source(name, "false", "\"shape\": \"poisson\", \"per_second\": [5, 5]");
    }

    /** A bolt of two tasks with inputs, streams, and more of its own. */
    static String bolt(String name, String inputs, String streams, String more) {
        return "{" + component(name, 2, streams) + ", \"sink\": " + streams.isEmpty()
                + ", \"fails\": 0, \"exclusive\": false, \"inputs\": [" + inputs + "]" + more + "}";
    }

    static String input(String source, String grouping, String outputs) {
        return "{\"source\": \"" + source + "\", \"stream\": \"default\", \"copy\": 0, "
                + "\"grouping\": " + grouping + ", \"service\": " + NO_TIME
                + ", \"outputs\": [" + outputs + "]}";
    }

    static String shuffled(String source, String outputs) {
        return input(source, "{\"kind\": \"shuffle\"}", outputs);
    }

    static String output(String stream, String values, String cumulative) {
        return "{\"stream\": \"" + stream + "\", \"count\": {\"values\": [" + values
                + "], \"cumulative\": [" + cumulative + "]}}";
    }

    static String window(String extent, String outputs) {
        return ", \"window\": {" + extent + ", \"service\": " + NO_TIME
                + ", \"cpu_ms_per_tuple\": 0, \"outputs\": [" + outputs + "]}";
    }

    private static String component(String name, int tasks, String streams) {
        return "\"name\": \"" + name + "\", \"tasks\": " + tasks + ", \"executors\": 1, "
                + "\"relative_service\": [1, 1], \"streams\": [" + streams + "]";
    }
}
