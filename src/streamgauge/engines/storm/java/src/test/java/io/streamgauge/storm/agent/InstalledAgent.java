package io.streamgauge.storm.agent;

import com.codahale.metrics.MetricRegistry;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.TopologyContext;

/** The agent of a worker, and what it would write, for tests of components that report to it. */
public final class InstalledAgent {
    private final Agent agent;

    /** The configuration is that of the worker's tasks. */
    public InstalledAgent(Map<String, Object> configuration) {
        agent = Agent.install(new MetricRegistry(), configuration, Map.of());
    }

    /** Let a task be one of the worker's. */
    public void join(TopologyContext context) {
        agent.join(context);
    }

    /** The samples of one bucket, a line each. */
    public List<String> samples() {
        Bucket bucket = new Bucket(null, "words", null, 0, 10.0, true);
        new TaskSamples(agent.worker(), true).write(bucket);
        return Lines.oneByOne(bucket.lines());
    }
}
