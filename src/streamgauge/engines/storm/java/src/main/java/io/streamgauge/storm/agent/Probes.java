package io.streamgauge.storm.agent;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Round trips to other nodes, by the time until a TCP connection is accepted or refused.
 *
 * <p>Either answer comes from the other node's kernel at once. The port asked by default is that
 * of the echo service, where nearly nobody listens: so no service of anybody is disturbed.
 */
final class Probes {
    private static final int ECHO_PORT = 7;
    private static final int PROBES = 10;
    private static final int MOST_LOST = 2;
    private static final int TIMEOUT_MILLIS = 500;

    private final List<String> given;
    private final String node;

    /** From `node`, to the targets given as HOST or HOST:PORT, else to the topology's nodes. */
    Probes(List<String> given, String node) {
        this.given = given;
        this.node = node;
    }

    /** One `link` line for each other node. */
    void write(String cluster, Collection<String> nodes, List<String> lines) {
        for (Map.Entry<String, Integer> target : targets(nodes).entrySet()) {
            if (!target.getKey().equals(node)) {
                lines.add(link(cluster, target.getKey(), target.getValue()));
            }
        }
    }

    private Map<String, Integer> targets(Collection<String> nodes) {
        Map<String, Integer> targets = new LinkedHashMap<>();
        for (String one : given) {
            int colon = one.lastIndexOf(':');
            String port = colon < 0 ? "" : one.substring(colon + 1);
            if (port.matches("\\d{1,5}")) {
                targets.put(one.substring(0, colon), Integer.parseInt(port));
            } else {
                targets.put(one, ECHO_PORT);
            }
        }
        if (given.isEmpty()) {
            nodes.forEach(one -> targets.put(one, ECHO_PORT));
        }
        return targets;
    }

    private String link(String cluster, String target, int port) {
        long measuredAt = System.currentTimeMillis() * 1000;
        int sent = 0;
        int received = 0;
        long sum = 0;
        long least = Long.MAX_VALUE;
        long most = 0;
        while (sent < PROBES && sent - received < MOST_LOST) {
            long nanos = roundTrip(target, port);
            sent++;
            if (nanos >= 0) {
                received++;
                sum += nanos;
                least = Math.min(least, nanos);
                most = Math.max(most, nanos);
            }
        }
        JsonLine line = new JsonLine().begin("link")
            .put("cluster", cluster)
            .put("source_node", node)
            .put("target_node", target)
            .put("kind", "round-trip")
            .put("measured_at_us", measuredAt)
            .put("sent", (long) sent)
            .put("received", (long) received);
        if (received > 0) {
            line.put("least_ns", least).put("mean_ns", sum / received).put("most_ns", most);
        }
        return line.end();
    }

    private static long roundTrip(String host, int port) {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            return -1;
        }
        try (Socket socket = new Socket()) {
            long begun = System.nanoTime();
            try {
                socket.connect(address, TIMEOUT_MILLIS);
            } catch (ConnectException refused) {
                return System.nanoTime() - begun;
            }
            return System.nanoTime() - begun;
        } catch (IOException | RuntimeException unanswered) {
            return -1;
        }
    }
}
