package io.streamgauge.storm.agent;

import java.util.function.DoubleSupplier;
import org.apache.storm.task.TopologyContext;

/**
 * What a component knows better than a hook can see; does nothing where no agent runs.
 *
 * <p>Times are in nanoseconds; CPU times below zero are not known. Safe for any thread.
 */
public final class Recorder {
    private final Agent agent;
    private final TaskTally task;

    private Recorder(Agent agent, TaskTally task) {
        this.agent = agent;
        this.task = task;
    }

    /** The recorder of the task whose context it is. */
    public static Recorder of(TopologyContext context) {
        try {
            Agent agent = Agent.of(context.getConf());
            return new Recorder(agent, agent == null ? null : agent.task(context.getThisTaskId()));
        } catch (RuntimeException broken) {
            Agent.tell("A component's own metrics are not recorded", broken);
            return new Recorder(null, null);
        }
    }

    /** A tuple was executed. The hook's own times of this task are left out from then on. */
    public void executed(String sourceComponent, String stream, long wallNanos, long cpuNanos) {
        if (task == null) {
            return;
        }
        task.timesItself = true;
        InputTally input = task.input(sourceComponent, stream);
        input.executeWall.add(Math.max(wallNanos, 0));
        if (cpuNanos >= 0) {
            input.executeCpu.add(cpuNanos);
        }
    }

    /** A source took this long for a tuple. */
    public void emitted(String stream, long wallNanos, long cpuNanos) {
        if (task == null) {
            return;
        }
        OutputTally output = task.output(stream);
        output.emitWall.add(Math.max(wallNanos, 0));
        if (cpuNanos >= 0) {
            output.emitCpu.add(cpuNanos);
        }
    }

    /**
     * How many tuples are due at a source and not emitted; asked from another thread whenever a
     * bucket ends.
     */
    public void lag(DoubleSupplier tuples) {
        if (task != null) {
            task.lag = tuples;
        }
    }

    /** A window of so many tuples fired. */
    public void windowFired(int tuples, long wallNanos, long cpuNanos) {
        if (task == null) {
            return;
        }
        task.windowTuples.add(tuples);
        task.windowWall.add(Math.max(wallNanos, 0));
        if (cpuNanos >= 0) {
            task.windowCpu.add(cpuNanos);
        }
    }

    /** A tuple came to its end in this sink, so long after its root was emitted. */
    public void endToEnd(String sourceComponent, long nanos) {
        if (task != null) {
            task.endToEnd.computeIfAbsent(sourceComponent, any -> new Distribution()).add(nanos);
        }
    }

    /** The same since the root was due, where its source has a schedule. */
    public void sinceDue(String sourceComponent, long nanos) {
        if (task != null) {
            task.sinceDue.computeIfAbsent(sourceComponent, any -> new Distribution()).add(nanos);
        }
    }

    /** A root was acked this long after it was emitted, by the source's own clock. */
    public void rootAcked(String stream, long nanos) {
        if (task != null) {
            task.output(stream).rootLatency.add(Math.max(nanos, 0));
        }
    }

    /** A traced tuple came to its end. */
    public void trace(Trace trace) {
        if (agent != null) {
            agent.trace(trace);
        }
    }
}
