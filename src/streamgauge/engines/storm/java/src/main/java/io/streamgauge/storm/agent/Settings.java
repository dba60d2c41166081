package io.streamgauge.storm.agent;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What can be set, in the reporter's entry or in the topology's configuration. */
record Settings(
    Path folder,
    double bucketSeconds,
    long maxBytes,
    String cluster,
    List<String> ping,
    boolean waits,
    boolean plans
) {
    private static final String PREFIX = "streamgauge.agent.";
    private static final double LEAST_BUCKET = 1.0;
    private static final double MOST_BUCKET = 3600.0;
    private static final long LEAST_BYTES = 1L << 20;
    private static final long DEFAULT_BYTES = 256L << 20;

    /** Settings of a worker; what cannot be read has its default, and is told in `notes`. */
    static Settings of(
        Map<String, Object> topology, Map<String, Object> entry, List<String> notes) {
        Found found = new Found(topology, entry, notes);
        String cluster = found.text("cluster");
        return new Settings(
            folder(found.text("dir")),
            found.number("bucket.seconds", 10.0, LEAST_BUCKET, MOST_BUCKET),
            (long) found.number("max.bytes", DEFAULT_BYTES, LEAST_BYTES, Long.MAX_VALUE),
            cluster == null || cluster.isBlank() ? null : cluster.strip(),
            targets(found.text("ping")),
            found.flag("waits"),
            found.flag("plans"));
    }

    /** The folder of the worker's own log files has one of ours in it, unless told otherwise. */
    private static Path folder(String given) {
        if (given != null) {
            return Path.of(given);
        }
        String artifacts = System.getProperty("workers.artifacts");
        String topology = System.getProperty("storm.id");
        String port = System.getProperty("worker.port");
        if (artifacts != null && topology != null && port != null) {
            return Path.of(artifacts, topology, port, "streamgauge");
        }
        String logs = System.getProperty("storm.log.dir", System.getProperty("java.io.tmpdir"));
        return Path.of(logs, "streamgauge");
    }

    private static List<String> targets(String given) {
        List<String> targets = new ArrayList<>();
        if (given != null) {
            for (String one : given.split(",")) {
                if (!one.isBlank()) {
                    targets.add(one.strip());
                }
            }
        }
        return List.copyOf(targets);
    }

    private record Found(
        Map<String, Object> topology, Map<String, Object> entry, List<String> notes) {

        Object get(String name) {
            Object value = entry.get(PREFIX + name);
            return value != null ? value : topology.get(PREFIX + name);
        }

        String text(String name) {
            Object value = get(name);
            return value == null ? null : value.toString();
        }

        boolean flag(String name) {
            Object value = get(name);
            return value == null || Boolean.parseBoolean(value.toString());
        }

        double number(String name, double otherwise, double least, double most) {
            Object value = get(name);
            if (value == null) {
                return otherwise;
            }
            try {
                double number = Double.parseDouble(value.toString());
                if (number >= least && number <= most) {
                    return number;
                }
            } catch (NumberFormatException notANumber) {
                // Told below.
            }
            notes.add(PREFIX + name + ": " + value + "; expected a number from " + least + " to "
                + most + "; taking " + otherwise);
            return otherwise;
        }
    }
}
