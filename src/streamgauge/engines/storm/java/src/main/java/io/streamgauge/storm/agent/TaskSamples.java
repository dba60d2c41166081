package io.streamgauge.storm.agent;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.ComponentCommon;

/** Samples of tasks and executors from what was tallied. */
final class TaskSamples {
    private final WorkerTallies worker;
    private final boolean acked;
    private final Map<String, String> rootStreams = new HashMap<>();

    TaskSamples(WorkerTallies worker, boolean acked) {
        this.worker = worker;
        this.acked = acked;
    }

    void write(Bucket bucket) {
        Subject whole = worker.seat().subject();
        long executed = 0;
        for (ExecutorTally executor : worker.executors()) {
            Subject who = whole.executor(executor.component, executor.label());
            if (executor.idle.total() > 0) {
                bucket.spent(who, "executor_idle", executor.idle.take());
            }
            executor.waits.write(bucket, who, executor.threadNumber() != OwnThread.UNKNOWN);
            long held = executor.held.take();
            if (held > 0) {
                bucket.spent(who, "backpressure_held", held);
            }
            lag(bucket, who, executor);
            for (TaskTally task : executor.tasks()) {
                executed += one(bucket, who.task(task.component, task.task), whole, task);
            }
        }
        bucket.counted(whole, "worker_executed", Keys.NONE, executed);
    }

    private static void lag(Bucket bucket, Subject who, ExecutorTally executor) {
        double tuples = 0.0;
        boolean known = false;
        for (TaskTally task : executor.tasks()) {
            if (task.lag != null) {
                known = true;
                tuples += task.lag.getAsDouble();
            }
        }
        if (known) {
            bucket.gauge(who, "source_lag", tuples, 1);
        }
    }

    /** Writes what a task did, and says how many tuples and messages it executed. */
    private long one(Bucket bucket, Subject who, Subject whole, TaskTally task) {
        long executed = 0;
        for (InputTally input : task.inputs()) {
            if (!input.source.equals(Names.SYSTEM) && Names.isCounted(input.stream)) {
                executed += input(bucket, who, input);
            }
        }
        for (OutputTally output : task.outputs()) {
            if (Names.isCounted(output.stream)) {
                output(bucket, who, whole, task, output);
            }
        }
        task.endToEnd.forEach((source, times) ->
            bucket.times(who, "end_to_end_latency", Keys.origin(source), times));
        task.sinceDue.forEach((source, times) ->
            bucket.times(who, "since_due_latency", Keys.origin(source), times));
        window(bucket, who, task);
        if (acked && worker.isSource(task.component)) {
            roots(bucket, who, task);
        }
        return executed;
    }

    private static long input(Bucket bucket, Subject who, InputTally input) {
        Keys keys = Keys.input(input.source, input.stream);
        long executed = input.executed.take();
        bucket.counted(who, "executed", keys, executed);
        bucket.counted(who, "acked", keys, input.acked.take());
        bucket.counted(who, "failed", keys, input.failed.take());
        bucket.times(who, "execute_latency", keys, input.executeWall);
        bucket.times(who, "execute_cpu", keys, input.executeCpu);
        bucket.times(who, "process_latency", keys, input.process);
        bucket.mean(who, "execute_latency_mean", keys, input.sampledExecuteMs.take(),
            input.sampledExecutes.take());
        bucket.mean(who, "process_latency_mean", keys, input.sampledProcessMs.take(),
            input.sampledProcesses.take());
        return executed;
    }

    private void output(
        Bucket bucket, Subject who, Subject whole, TaskTally task, OutputTally output) {
        Keys keys = Keys.output(output.stream);
        bucket.counted(who, "emitted", keys, output.emitted.take());
        long[] sent = output.takeSent();
        bucket.counted(who, "sent", keys, Arrays.stream(sent).sum());
        Keys transfer = Keys.transfer(task.component, task.task, output.stream);
        for (int target = 0; target < sent.length; target++) {
            if (sent[target] > 0) {
                Subject receiver = whole.task(worker.componentOf(target), target);
                bucket.counted(receiver, "transferred", transfer, sent[target]);
            }
        }
        Distribution.Growth bytes = output.bytes.take();
        if (bytes != null) {
            bucket.sample(who, "emitted_bytes", keys, bytes.sum(), bytes.count());
            bucket.bins(who, "emitted_bytes_bin", keys, bytes);
        }
        bucket.times(who, "emit_latency", keys, output.emitWall);
        bucket.times(who, "emit_cpu", keys, output.emitCpu);
        bucket.times(who, "root_latency", keys, output.rootLatency);
    }

    private static void window(Bucket bucket, Subject who, TaskTally task) {
        Distribution.Growth fired = task.windowWall.take();
        if (fired != null) {
            bucket.counted(who, "window_triggers", Keys.NONE, fired.count());
            bucket.counted(who, "window_tuples", Keys.NONE, task.windowTuples.take());
            bucket.sample(who, "window_latency_sum", Keys.NONE, fired.sum(), fired.count());
            bucket.sample(
                who, "window_latency_squares", Keys.NONE, fired.squares(), fired.count());
            bucket.bins(who, "window_latency_bin", Keys.NONE, fired);
        }
        bucket.times(who, "window_cpu", Keys.NONE, task.windowCpu);
    }

    /**
     * The engine does not tell the stream of a root that ended: exact counts are of sources that
     * have one stream.
     */
    private void roots(Bucket bucket, Subject who, TaskTally task) {
        String stream = rootStreams.computeIfAbsent(task.component, this::onlyStream);
        if (!stream.isEmpty()) {
            Keys keys = Keys.output(stream);
            bucket.counted(who, "roots_acked", keys, task.rootsAcked.take());
            bucket.counted(who, "roots_failed", keys, task.rootsFailed.take());
            bucket.times(who, "complete_latency", keys, task.complete);
            bucket.mean(who, "complete_latency_mean", keys, task.sampledRootMs.take(),
                task.sampledRoots.take());
        }
        long begun = task.rootsBegun.total();
        if (begun > 0) {
            long ended = task.rootsAcked.total() + task.rootsFailed.total();
            bucket.gauge(who, "roots_pending", Math.max(begun - ended, 0), 1);
        }
    }

    private String onlyStream(String component) {
        ComponentCommon common = worker.context().getComponentCommon(component);
        List<String> streams = new ArrayList<>();
        for (String stream : common.get_streams().keySet()) {
            if (!stream.startsWith(Names.SYSTEM_PREFIX)) {
                streams.add(stream);
            }
        }
        return streams.size() == 1 ? streams.get(0) : "";
    }
}
