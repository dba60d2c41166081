package io.streamgauge.storm.topology;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * A job as data: components with all they draw from.
 *
 * @param traceEvery one root in so many keeps its path; 0 for none
 * @param configuration Storm's own settings
 */
record Program(
        String topology,
        boolean acked,
        long seed,
        int traceEvery,
        Map<String, Object> configuration,
        List<Source> sources,
        List<Bolt> bolts) {

    private static final int FORMAT = 1;

    static Program parse(String text) {
        Place root = Place.root(text);
        if (root.at("streamgauge").whole(0) != FORMAT) {
            throw root.at("streamgauge").wrong("format " + FORMAT);
        }
        Program program = new Program(
                root.at("topology").text(),
                root.at("acked").flag(),
                root.at("seed").wholeLong(),
                root.at("trace_every").whole(0),
                root.at("configuration").settings(),
                root.at("sources").each(Source::read),
                root.at("bolts").each(Bolt::read));
        if (program.sources.isEmpty()) {
            throw root.at("sources").wrong("at least one source");
        }
        return program;
    }

    /** The names of the sources, by whose place tuples say where their roots come from. */
    List<String> sourceNames() {
        return sources.stream().map(one -> one.component().name()).toList();
    }

    /** What every task is told of the whole. */
    Shared shared() {
        return new Shared(acked, seed, traceEvery, List.copyOf(sourceNames()));
    }

    /** The part of a program that all components have alike. */
    record Shared(boolean acked, long seed, int traceEvery, List<String> sources)
            implements Serializable {
    }

    /**
     * What sources and bolts have alike.
     *
     * @param relativeService of each task, times which its service takes
     */
    record Component(
            String name, int tasks, int executors, double[] relativeService, List<Stream> streams)
            implements Serializable {

        static Component read(Place place) {
            int tasks = place.at("tasks").whole(1);
            double[] relative = place.at("relative_service").amounts();
            if (relative.length != tasks) {
                throw place.at("relative_service").wrong(tasks + " factors, one for each task");
            }
            return new Component(
                    place.at("name").text(),
                    tasks,
                    place.at("executors").whole(1),
                    relative,
                    List.copyOf(place.at("streams").each(Stream::read)));
        }
    }

    /**
     * A stream that a component emits on.
     *
     * @param keys how its keys are drawn; null for none
     * @param bytes size of its tuples; null where nothing is said
     * @param directTo to whose tasks its tuples are addressed; null where groupings choose
     */
    record Stream(String name, KeyRule keys, Distribution bytes, String directTo)
            implements Serializable {

        static Stream read(Place place) {
            return new Stream(
                    place.at("name").text(),
                    place.maybe("keys").map(KeyRule::read).orElse(null),
                    place.maybe("bytes").map(Distribution::read).orElse(null),
                    place.maybe("direct_to").map(Place::text).orElse(null));
        }
    }

    /** Time that a tuple takes of a core, and time in which it only waits. */
    record Service(Distribution cpuMs, Distribution waitMs) implements Serializable {
        static Service read(Place place) {
            return new Service(
                    Distribution.read(place.at("cpu_ms")), Distribution.read(place.at("wait_ms")));
        }
    }

    /** How many tuples come out on a stream. */
    record Output(String stream, Distribution.Table count) implements Serializable {
        static Output read(Place place) {
            return new Output(
                    place.at("stream").text(), Distribution.Table.read(place.at("count")));
        }
    }

    /** A spout. */
    record Source(
            Component component, Service service, boolean replays, List<Emission> emissions)
            implements Serializable {

        static Source read(Place place) {
            Component component = Component.read(place);
            return new Source(
                    component,
                    Service.read(place.at("service")),
                    place.at("replays").flag(),
                    List.copyOf(place.at("emissions").each(
                            one -> Emission.read(one, component.tasks()))));
        }
    }

    /**
     * How an input's tuples are dealt to tasks.
     *
     * @param cumulative of a custom one: shares up to each task, for each sending task or for all
     */
    record Grouping(String kind, double[][] cumulative) implements Serializable {
        private static final List<String> KINDS = List.of("shuffle", "local-or-shuffle", "fields",
                "partial-key", "all", "global", "direct", "custom");

        static Grouping read(Place place) {
            String kind = place.at("kind").text();
            if (!KINDS.contains(kind)) {
                throw place.at("kind").wrong("one of " + String.join(", ", KINDS));
            }
            double[][] rows = {};
            if (kind.equals("custom")) {
                rows = place.at("cumulative").each(Place::amounts).toArray(double[][]::new);
                if (rows.length == 0 || Arrays.stream(rows).anyMatch(row -> row.length == 0)) {
                    throw place.at("cumulative").wrong("rows of shares");
                }
            }
            return new Grouping(kind, rows);
        }
    }

    /**
     * What a bolt does with the tuples of one stream.
     *
     * @param copy which of the stream's subscribers the bolt is, from 0
     */
    record Input(
            String source,
            String stream,
            int copy,
            Grouping grouping,
            Service service,
            List<Output> outputs) implements Serializable {

        static Input read(Place place) {
            return new Input(
                    place.at("source").text(),
                    place.at("stream").text(),
                    place.at("copy").whole(0),
                    Grouping.read(place.at("grouping")),
                    Service.read(place.at("service")),
                    List.copyOf(place.at("outputs").each(Output::read)));
        }
    }

    /**
     * What a bolt gathers, and what it does then.
     *
     * @param lengthTuples how many tuples are in a window; 0 where a time is given
     * @param slideTuples after how many more it fires again; 0 where a time is given
     * @param cpuMsPerTuple CPU time more for each tuple in it
     */
    record Window(
            int lengthTuples,
            int lengthMs,
            int slideTuples,
            int slideMs,
            Service service,
            double cpuMsPerTuple,
            List<Output> outputs) implements Serializable {

        static Window read(Place place) {
            return new Window(
                    extent(place, "length_tuples", "length_ms"),
                    extent(place, "length_ms", "length_tuples"),
                    extent(place, "slide_tuples", "slide_ms"),
                    extent(place, "slide_ms", "slide_tuples"),
                    Service.read(place.at("service")),
                    place.at("cpu_ms_per_tuple").amount(),
                    List.copyOf(place.at("outputs").each(Output::read)));
        }

        private static int extent(Place place, String key, String other) {
            if (place.has(key) == place.has(other)) {
                throw place.wrong("either " + key + " or " + other);
            }
            return place.has(key) ? place.at(key).whole(1) : 0;
        }
    }

    /** At a window: the stream for counts that are all even or all odd, and the one for others. */
    record Parity(String equal, String different) implements Serializable {
        static Parity read(Place place) {
            return new Parity(place.at("equal").text(), place.at("different").text());
        }
    }

    /**
     * A bolt.
     *
     * @param sink whether paths end here
     * @param fails part of its tuples that it fails
     * @param exclusive whether an input gives a tuple on at most one stream
     * @param window null where every tuple is dealt with by itself
     * @param joinWithinSeconds how long a tuple waits for those of the same key; 0 without a join
     * @param parity null where a window's outputs are all there is
     */
    record Bolt(
            Component component,
            boolean sink,
            double fails,
            boolean exclusive,
            List<Input> inputs,
            Window window,
            double joinWithinSeconds,
            Parity parity) implements Serializable {

        static Bolt read(Place place) {
            return new Bolt(
                    Component.read(place),
                    place.at("sink").flag(),
                    place.at("fails").amount(),
                    place.at("exclusive").flag(),
                    List.copyOf(place.at("inputs").each(Input::read)),
                    place.maybe("window").map(Window::read).orElse(null),
                    place.maybe("join_within_seconds").map(Place::amount).orElse(0.0),
                    place.maybe("parity").map(Parity::read).orElse(null));
        }
    }
}
