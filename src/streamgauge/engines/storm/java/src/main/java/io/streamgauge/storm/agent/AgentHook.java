package io.streamgauge.storm.agent;

import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.BoltFailInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/**
 * Counts what one task does; does nothing where no reporter runs.
 *
 * <p>Storm 2.8 calls it for every emit, execute, ack and fail, on the thread that does it.
 * Latencies come with one in twenty, in milliseconds; with the others comes null from sources and
 * a number below zero from bolts. Should counting ever fail, the hook goes silent.
 */
public final class AgentHook extends BaseTaskHook {
    private Agent agent;
    private volatile TaskTally tally;
    private TupleSizes sizes;
    private boolean acked;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        try {
            agent = Agent.of(conf);
            if (agent != null) {
                tally = agent.join(context);
                sizes = new TupleSizes(conf, context);
                acked = agent.isAcked();
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void emit(EmitInfo info) {
        TaskTally task = tally;
        if (task == null) {
            return;
        }
        try {
            OutputTally output = task.output(info.stream);
            output.emitted.add(1);
            for (Integer target : info.outTasks) {
                // A direct emit that nobody subscribed to has no task.
                if (target != null) {
                    output.sentTo(target);
                }
            }
            sizes.sample(output, info);
            if (acked && info.stream.equals(Names.ACK_INIT)) {
                task.rootsBegun.add(1);
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        TaskTally task = tally;
        if (task == null) {
            return;
        }
        try {
            task.executor.ownThread();
            long took = task.executor.executionEnded(System.nanoTime());
            Tuple tuple = info.tuple;
            InputTally input = task.input(tuple.getSourceComponent(), tuple.getSourceStreamId());
            input.executed.add(1);
            if (took >= 0 && !task.timesItself) {
                input.executeWall.add(took);
            }
            Long millis = info.executeLatencyMs;
            if (millis != null && millis >= 0) {
                input.sampledExecutes.add(1);
                input.sampledExecuteMs.add(millis);
                agent.saw(tuple);
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void boltAck(BoltAckInfo info) {
        TaskTally task = tally;
        if (task == null) {
            return;
        }
        try {
            InputTally input = inputOf(task, info.tuple);
            input.acked.add(1);
            Long millis = info.processLatencyMs;
            if (millis != null && millis >= 0) {
                input.process.add(millis * Agent.NANOS_PER_MILLI);
                input.sampledProcesses.add(1);
                input.sampledProcessMs.add(millis);
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void boltFail(BoltFailInfo info) {
        TaskTally task = tally;
        if (task == null) {
            return;
        }
        try {
            InputTally input = inputOf(task, info.tuple);
            input.failed.add(1);
            Long millis = info.failLatencyMs;
            if (millis != null && millis >= 0) {
                input.process.add(millis * Agent.NANOS_PER_MILLI);
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void spoutAck(SpoutAckInfo info) {
        TaskTally task = tally;
        // Without ackers, sources are told of success at once: no tree was acked.
        if (task == null || !acked) {
            return;
        }
        try {
            task.rootsAcked.add(1);
            Long millis = info.completeLatencyMs;
            if (millis != null && millis >= 0) {
                task.complete.add(millis * Agent.NANOS_PER_MILLI);
                task.sampledRoots.add(1);
                task.sampledRootMs.add(millis);
            }
        } catch (Throwable broken) {
            silence(broken);
        }
    }

    @Override
    public void spoutFail(SpoutFailInfo info) {
        TaskTally task = tally;
        if (task != null && acked) {
            task.rootsFailed.add(1);
        }
    }

    private static InputTally inputOf(TaskTally task, Tuple tuple) {
        return task.input(tuple.getSourceComponent(), tuple.getSourceStreamId());
    }

    private void silence(Throwable broken) {
        tally = null;
        Agent.tell("A task's metrics end here, since counting failed", broken);
    }
}
