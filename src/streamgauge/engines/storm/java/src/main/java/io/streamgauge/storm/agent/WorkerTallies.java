package io.streamgauge.storm.agent;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.Collectors;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.TopologyContext;

/** The executors and tasks of this worker, as they join when it starts. */
final class WorkerTallies {
    private static final String EXECUTOR = "streamgauge.agent.executor";

    private final Map<String, Object> conf;
    private final String node;
    private final String machine;
    private final long startMillis;
    private final ConcurrentMap<Integer, TaskTally> tasks = new ConcurrentHashMap<>();
    private final Set<ExecutorTally> executors = ConcurrentHashMap.newKeySet();
    private volatile Seat seat;
    private volatile TopologyContext context;
    private volatile Map<Integer, String> components = Map.of();

    WorkerTallies(Map<String, Object> conf, String node, String machine, long startMillis) {
        this.conf = conf;
        this.node = node;
        this.machine = machine;
        this.startMillis = startMillis;
    }

    /** The tally of a task that has come to live here; null for the engine's own. */
    TaskTally join(TopologyContext joining) {
        if (seat == null) {
            components = Map.copyOf(joining.getTaskToComponent());
            context = joining;
            sit(joining.getThisWorkerPort());
        }
        int task = joining.getThisTaskId();
        String component = joining.getThisComponentId();
        if (task < 0 || component == null || Names.isForeign(component)) {
            return null;
        }
        ExecutorTally executor = (ExecutorTally) joining.getExecutorData(EXECUTOR);
        if (executor == null) {
            executor = new ExecutorTally(component);
            joining.setExecutorData(EXECUTOR, executor);
        }
        int most = components.keySet().stream().mapToInt(Integer::intValue).max().orElse(task);
        TaskTally tally = new TaskTally(task, component, executor, most + 1);
        executor.join(tally);
        tasks.put(task, tally);
        executors.add(executor);
        return tally;
    }

    /** Says which worker this is, where no task has. */
    synchronized void sit(int port) {
        if (seat == null) {
            seat = new Seat(
                String.valueOf(conf.get("topology.name")), String.valueOf(conf.get("storm.id")),
                node, port, machine, startMillis);
        }
    }

    /** Whether all tasks of this worker have joined; they do one by one. */
    boolean isWhole() {
        if (seat == null || context == null) {
            return false;
        }
        return context.getThisWorkerTasks().stream()
            .filter(task -> !Names.isForeign(components.getOrDefault(task, Names.SYSTEM)))
            .allMatch(tasks::containsKey);
    }

    Seat seat() {
        return seat;
    }

    /** A context of this topology, once a task has joined. */
    TopologyContext context() {
        return context;
    }

    TaskTally task(int task) {
        return tasks.get(task);
    }

    Collection<TaskTally> tasks() {
        return tasks.values();
    }

    /** Executors by their first tasks. */
    List<ExecutorTally> executors() {
        return executors.stream()
            .sorted(Comparator.comparingInt(ExecutorTally::firstTask))
            .collect(Collectors.toList());
    }

    /** The executor that a thread of this name runs, or null. */
    ExecutorTally executorOf(String threadName) {
        String key = Names.executorThread(threadName);
        if (key != null) {
            for (ExecutorTally one : executors) {
                if (key.equals(threadOf(one))) {
                    return one;
                }
            }
        }
        return null;
    }

    static String threadOf(ExecutorTally executor) {
        return Names.executorThread(
            executor.component, executor.firstTask(), executor.lastTask());
    }

    String componentOf(int task) {
        return components.get(task);
    }

    boolean isSource(String component) {
        StormTopology topology = context == null ? null : context.getRawTopology();
        return topology != null && topology.get_spouts().containsKey(component);
    }

    /** The keys of an input that the engine writes as COMPONENT:STREAM, or null. */
    Keys inputKeys(String text) {
        for (int colon = text.indexOf(':'); colon > 0; colon = text.indexOf(':', colon + 1)) {
            String source = text.substring(0, colon);
            if (components.containsValue(source)) {
                return Keys.input(source, text.substring(colon + 1));
            }
        }
        return null;
    }
}
