package io.streamgauge.storm.agent;

import com.codahale.metrics.MetricRegistry;
import java.util.Map;
import org.apache.storm.metrics2.reporters.StormReporter;

/** Runs the agent in every worker of a topology whose configuration names this class. */
public final class AgentReporter implements StormReporter {
    private Agent agent;

    @Override
    @Deprecated
    public void prepare(
        MetricRegistry registry, Map<String, Object> conf, Map<String, Object> entry) {
        try {
            agent = Agent.install(registry, conf, entry);
        } catch (Throwable broken) {
            Agent.tell("No metrics are written", broken);
        }
    }

    @Override
    public void start() {
        if (agent != null) {
            agent.start();
        }
    }

    @Override
    public void stop() {
        if (agent != null) {
            agent.stop();
        }
    }

    @Override
    public void close() {
        stop();
    }
}
