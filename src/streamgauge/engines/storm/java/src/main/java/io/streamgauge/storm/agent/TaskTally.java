package io.streamgauge.storm.agent;

import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.DoubleSupplier;

/** Everything counted of one task. */
final class TaskTally {
    final int task;
    final String component;
    final ExecutorTally executor;
    /** Of sources: roots begun, acked and failed. */
    final Count rootsBegun = new Count();
    final Count rootsAcked = new Count();
    final Count rootsFailed = new Count();
    final Distribution complete = new Distribution();
    final Count sampledRoots = new Count();
    final Count sampledRootMs = new Count();
    final Count windowTuples = new Count();
    final Distribution windowWall = new Distribution();
    final Distribution windowCpu = new Distribution();
    /** Of sinks, by source: since a root's emission, and since it was due. */
    final ConcurrentMap<String, Distribution> endToEnd = new ConcurrentHashMap<>();
    final ConcurrentMap<String, Distribution> sinceDue = new ConcurrentHashMap<>();
    /** Of sources that know: tuples that are due and not emitted. */
    volatile DoubleSupplier lag;
    /** Set by a component that times its own executions, which the hook then leaves to it. */
    volatile boolean timesItself;

    private final int tasks;
    private final ConcurrentMap<String, OutputTally> outputs = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, ConcurrentMap<String, InputTally>> inputs =
        new ConcurrentHashMap<>();
    // The last ones used: nearly always the next ones too.
    private OutputTally lastOutput;
    private InputTally lastInput;

    TaskTally(int task, String component, ExecutorTally executor, int tasks) {
        this.task = task;
        this.component = component;
        this.executor = executor;
        this.tasks = tasks;
    }

    OutputTally output(String stream) {
        OutputTally last = lastOutput;
        if (last != null && last.stream.equals(stream)) {
            return last;
        }
        OutputTally found =
            outputs.computeIfAbsent(stream, name -> new OutputTally(name, tasks));
        lastOutput = found;
        return found;
    }

    InputTally input(String source, String stream) {
        InputTally last = lastInput;
        if (last != null && last.stream.equals(stream) && last.source.equals(source)) {
            return last;
        }
        InputTally found = inputs
            .computeIfAbsent(source, name -> new ConcurrentHashMap<>())
            .computeIfAbsent(stream, name -> new InputTally(source, name));
        lastInput = found;
        return found;
    }

    Collection<OutputTally> outputs() {
        return outputs.values();
    }

    Iterable<InputTally> inputs() {
        return () -> inputs.values().stream().flatMap(one -> one.values().stream()).iterator();
    }
}
