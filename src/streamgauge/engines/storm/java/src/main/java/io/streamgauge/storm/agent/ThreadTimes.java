package io.streamgauge.storm.agent;

import com.sun.management.OperatingSystemMXBean;
import io.streamgauge.storm.agent.ProcFiles.Account;
import io.streamgauge.storm.agent.ProcFiles.NativeThread;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Time of the process and of its threads, which are known by their names.
 *
 * <p>The virtual machine knows Java's threads, and their whole names. Its own, and how long any
 * thread wanted a core in vain, are known to the system only.
 */
final class ThreadTimes {
    private static final String TRANSFER = "Worker-Transfer";
    private static final String NETWORK = "network";
    private static final String WINDOWS = "windows";
    private static final String TIMERS = "timers";
    private static final String AGENT = "agent";
    private static final Map<String, List<String>> GROUPS = Map.of(
        TRANSFER, List.of(TRANSFER),
        NETWORK, List.of("Netty-", "client-worker-", "client-schedule-service-"),
        WINDOWS, List.of("time-trigger-policy-", "watermark-event-generator-"),
        AGENT, List.of("streamgauge-"));
    // Threads that write to other workers and to no file.
    private static final List<String> SENDERS = List.of("Netty-", "client-worker-");
    private static final List<String> COLLECTORS =
        List.of("GC Thread", "G1 ", "Shenandoah", "ZDriver", "ZWorker", "ZStat", "XDriver");
    private static final String SERIAL_THREAD = "VM Thread";
    private static final List<String> COMPILERS =
        List.of("C1 CompilerThre", "C2 CompilerThre", "JVMCI", "Sweeper thread");

    private final com.sun.management.ThreadMXBean threads =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final OperatingSystemMXBean process =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final WorkerTallies worker;
    private final int windowTask;
    private final Level heap = new Level();
    private final Level resident = new Level();
    private final boolean collectsInSerial = ManagementFactory.getGarbageCollectorMXBeans().stream()
        .anyMatch(one -> one.getName().equals("Copy"));
    private Map<Long, Long> before = new HashMap<>();
    private Map<Long, NativeThread> nativeBefore = new HashMap<>();
    private Map<Long, Long> writtenBefore = new HashMap<>();
    private long processBefore;
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
            Subject one = who.executor(executor.component, executor.label());
            spent(bucket, one, "executor_cpu", grown.get(WorkerTallies.threadOf(executor)));
        }
        spent(bucket, who, "transfer_thread_cpu", grown.get(TRANSFER));
        spent(bucket, who, "network_threads_cpu", grown.get(NETWORK));
        spent(bucket, who, "window_threads_cpu", grown.get(WINDOWS));
        spent(bucket, who, "timer_threads_cpu", grown.get(TIMERS));
        spent(bucket, who, "agent_cpu", grown.get(AGENT));
        if (windowTask >= 0) {
            Subject task = who.task(worker.componentOf(windowTask), windowTask);
            spent(bucket, task, "window_thread_cpu", grown.get(WINDOWS));
        }
        natives(bucket, who, executors);
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
    }

    /** What only the system knows; where it does not tell, nobody does: pauses are no CPU time. */
    private void natives(Bucket bucket, Subject who, List<ExecutorTally> executors) {
        Map<Long, NativeThread> now = ProcFiles.threads(nativeBefore);
        if (now == null) {
            return;
        }
        long collector = 0;
        long compiler = 0;
        long delay = 0;
        Map<Long, Account> grown = new HashMap<>();
        for (Map.Entry<Long, NativeThread> one : now.entrySet()) {
            Account since = one.getValue().since(nativeBefore.get(one.getKey()));
            grown.put(one.getKey(), since);
            String name = one.getValue().name();
            delay += since.runDelay();
            if (isCollector(name)) {
                collector += since.cpu();
            } else if (COMPILERS.stream().anyMatch(name::startsWith)) {
                compiler += since.cpu();
            }
        }
        nativeBefore = now;
        bucket.spent(who, "gc_cpu", collector);
        bucket.spent(who, "jit_cpu", compiler);
        bucket.spent(who, "worker_run_delay", delay);
        sent(bucket, who, now);
        for (ExecutorTally executor : executors) {
            Account thread = grown.get(executor.threadNumber());
            if (thread != null) {
                Subject one = who.executor(executor.component, executor.label());
                bucket.spent(one, "executor_run_delay", thread.runDelay());
            }
        }
    }

    /**
     * What network threads wrote: messages to other workers, and what the engine says to them.
     *
     * <p>The transfer thread writes eight bytes to wake up the thread that sends, which then writes
     * as much to itself; these bytes go nowhere.
     */
    private void sent(Bucket bucket, Subject who, Map<Long, NativeThread> threads) {
        Map<Long, Long> now = new HashMap<>();
        long messages = 0;
        long wakes = 0;
        for (Map.Entry<Long, NativeThread> one : threads.entrySet()) {
            String name = one.getValue().name();
            boolean sends = SENDERS.stream().anyMatch(name::startsWith);
            if (!sends && !name.startsWith(TRANSFER)) {
                continue;
            }
            long written = ProcFiles.writtenBytes(one.getKey());
            if (written < 0) {
                continue;
            }
            now.put(one.getKey(), written);
            // A number may be given to another thread, which has written less.
            long before = writtenBefore.getOrDefault(one.getKey(), 0L);
            long grown = written >= before ? written - before : written;
            if (sends) {
                messages += grown;
            } else {
                wakes += grown;
            }
        }
        writtenBefore = now;
        if (!now.isEmpty()) {
            long sent = Math.max(messages - wakes, 0);
            bucket.counted(who, "network_bytes_sent", Keys.NONE, sent);
        }
    }

    private boolean isCollector(String name) {
        return COLLECTORS.stream().anyMatch(name::startsWith)
            || (collectsInSerial && name.equals(SERIAL_THREAD));
    }

    private void memory(Bucket bucket, Subject who) {
        heap.write(bucket, who, "heap_used");
        resident.write(bucket, who, "resident_memory");
        MemoryUsage usage = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        if (usage.getMax() > 0) {
            bucket.gauge(who, "heap_limit", usage.getMax(), 1);
        }
    }

    /** CPU time since the last call by executor's thread name, and by group. */
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
        for (Map.Entry<String, List<String>> group : GROUPS.entrySet()) {
            if (group.getValue().stream().anyMatch(name::startsWith)) {
                return group.getKey();
            }
        }
        return name.endsWith("timer") ? TIMERS : Names.executorThread(name);
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
