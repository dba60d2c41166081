package io.streamgauge.storm.agent;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Time of the process and of its threads, which are known by their names. */
final class ThreadTimes {
    private static final String TRANSFER = "Worker-Transfer";
    private static final List<String> NETWORK =
        List.of("Netty-server-", "client-worker-", "client-schedule-service-");
    private static final List<String> WINDOWS =
        List.of("time-trigger-policy-", "watermark-event-generator-");

    private final com.sun.management.ThreadMXBean threads =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final OperatingSystemMXBean process =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final WorkerTallies worker;
    private final int windowTask;
    private final Level heap = new Level();
    private final Level resident = new Level();
    private Map<Long, Long> before = new HashMap<>();
    private long processBefore;
    private long collectorBefore;
    private long pausesBefore;
    private long runsBefore;

    /** The only task of the worker with a window by time, or one below zero. */
    ThreadTimes(WorkerTallies worker, int windowTask) {
        this.worker = worker;
        this.windowTask = windowTask;
    }

    /** Reads levels, of which a bucket has the mean. */
    void read() {
        heap.add(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
        resident.add(ProcFiles.residentBytes());
    }

    void write(Bucket bucket) {
        Subject who = worker.seat().subject();
        Map<String, Long> grown = grown();
        List<ExecutorTally> executors = worker.executors();
        for (ExecutorTally executor : executors) {
            Long spent = grown.get(WorkerTallies.threadOf(executor));
            if (spent != null) {
                Subject one = who.executor(executor.component, executor.label());
                bucket.spent(one, "executor_cpu", spent);
            }
        }
        spent(bucket, who, "transfer_thread_cpu", grown.get(TRANSFER));
        spent(bucket, who, "network_threads_cpu", grown.get(NETWORK.get(0)));
        if (windowTask >= 0) {
            Subject task = who.task(worker.componentOf(windowTask), windowTask);
            spent(bucket, task, "window_thread_cpu", grown.get(WINDOWS.get(0)));
        }
        bucket.gauge(who, "worker_threads", executors.size(), 1);
        collections(bucket, who);
        memory(bucket, who);
        long now = process.getProcessCpuTime();
        bucket.spent(who, "worker_cpu", now - processBefore);
        processBefore = now;
    }

    private static void spent(Bucket bucket, Subject who, String metric, Long nanos) {
        if (nanos != null) {
            bucket.spent(who, metric, nanos);
        }
    }

    private void collections(Bucket bucket, Subject who) {
        long pauses = pauses();
        long runs = runs();
        bucket.spent(who, "gc_time", pauses - pausesBefore);
        bucket.counted(who, "gc_runs", Keys.NONE, runs - runsBefore);
        pausesBefore = pauses;
        runsBefore = runs;
        // Where the system does not tell, nobody knows: pauses are no CPU time.
        long collector = ProcFiles.collectorNanos();
        if (collector >= 0 && collectorBefore >= 0) {
            bucket.spent(who, "gc_cpu", Math.max(collector - collectorBefore, 0));
        }
        collectorBefore = collector;
    }

    private void memory(Bucket bucket, Subject who) {
        heap.write(bucket, who, "heap_used");
        resident.write(bucket, who, "resident_memory");
        MemoryUsage usage = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        if (usage.getMax() > 0) {
            bucket.gauge(who, "heap_limit", usage.getMax(), 1);
        }
    }

    /** CPU time since the last call by executor's thread name, and by the first word of a group. */
    private Map<String, Long> grown() {
        long[] ids = threads.getAllThreadIds();
        ThreadInfo[] infos = threads.getThreadInfo(ids);
        long[] times = threads.getThreadCpuTime(ids);
        Map<Long, Long> now = new HashMap<>();
        Map<String, Long> grown = new HashMap<>();
        for (int place = 0; place < ids.length; place++) {
            if (infos[place] == null || times[place] < 0) {
                continue;
            }
            String group = groupOf(infos[place].getThreadName());
            if (group != null) {
                now.put(ids[place], times[place]);
                long spent = times[place] - before.getOrDefault(ids[place], 0L);
                grown.merge(group, spent, Long::sum);
            }
        }
        before = now;
        return grown;
    }

    private static String groupOf(String name) {
        if (name.equals(TRANSFER)) {
            return TRANSFER;
        }
        if (NETWORK.stream().anyMatch(name::startsWith)) {
            return NETWORK.get(0);
        }
        if (WINDOWS.stream().anyMatch(name::startsWith)) {
            return WINDOWS.get(0);
        }
        return Names.executorThread(name);
    }

    private static long pauses() {
        long millis = 0;
        for (GarbageCollectorMXBean one : ManagementFactory.getGarbageCollectorMXBeans()) {
            millis += Math.max(one.getCollectionTime(), 0);
        }
        return millis * Agent.NANOS_PER_MILLI;
    }

    private static long runs() {
        long runs = 0;
        for (GarbageCollectorMXBean one : ManagementFactory.getGarbageCollectorMXBeans()) {
            runs += Math.max(one.getCollectionCount(), 0);
        }
        return runs;
    }
}
