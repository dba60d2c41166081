package io.streamgauge.storm.agent;

import java.util.List;

/**
 * One sampled tuple on one path from its source to a sink, as the raw format has it.
 *
 * @param root names the root; unique in the topology
 * @param path numbers the recorded paths of one root from zero
 * @param startedAtMicros when the source emitted it, since 1970
 * @param hops the source first
 * @param latencyNanos from the start to the end of the last hop
 * @param completeNanos until the whole tree was acked; below zero where nobody knows
 * @param outcome {@code arrived}, {@code acked} or {@code failed}
 */
public record Trace(
    String root,
    int path,
    long startedAtMicros,
    List<Hop> hops,
    long latencyNanos,
    long completeNanos,
    String outcome
) {
    /**
     * One task on the way; times count from the start of the trace, in nanoseconds.
     *
     * @param stream by which the tuple came; null at the source
     * @param key of the grouping, or null
     */
    public record Hop(
        String component,
        int task,
        String stream,
        String key,
        long arrivedNanos,
        long startedNanos,
        long finishedNanos
    ) {
        private void writeTo(JsonLine line) {
            line.put("component", component)
                .put("task", (long) task)
                .put("stream", stream)
                .put("key", key)
                .put("arrived_ns", arrivedNanos)
                .put("started_ns", startedNanos)
                .put("finished_ns", finishedNanos);
        }
    }

    String line(String cluster, String topology, String planId) {
        JsonLine line = new JsonLine().begin("trace")
            .put("cluster", cluster)
            .put("topology", topology)
            .put("plan_id", planId)
            .put("root", root)
            .put("path", (long) path)
            .put("started_at_us", startedAtMicros)
            .putObjects("hops", hops, Hop::writeTo)
            .put("latency_ns", latencyNanos);
        if (completeNanos >= 0) {
            line.put("complete_latency_ns", completeNanos);
        }
        return line.put("outcome", outcome).end();
    }
}
