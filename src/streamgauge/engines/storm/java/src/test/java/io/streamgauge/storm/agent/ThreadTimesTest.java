package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.storm.policy.IWaitStrategy.WaitSituation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ThreadTimesTest {
    private static final String EXECUTOR = "Thread-3-split-executor[2, 2]";
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    private static final long SECOND = 1_000_000_000;
    // Sleeps of a millisecond come after a thousand parks.
    private static final int PARKS = 5;

    private final Map<String, Object> conf = Contexts.conf();
    private final Agent agent = Agent.install(new MetricRegistry(), conf, Map.of());
    private ThreadTimes times;
    private TaskSamples tasks;

    @BeforeEach
    void joined() {
        new AgentHook().prepare(conf, Contexts.of(2, conf, new HashMap<>()));
        times = new ThreadTimes(agent.worker(), -1);
        tasks = new TaskSamples(agent.worker(), true);
        written();
    }

    /** Values of the bucket's samples by metric. */
    private Map<String, Double> written() {
        Bucket bucket = new Bucket(null, "words", null, 0, 10.0, true);
        tasks.write(bucket);
        times.write(bucket);
        Map<String, Double> values = new HashMap<>();
        for (String line : Lines.oneByOne(bucket.lines())) {
            String metric = line.replaceAll(".*\"metric\":\"(\\w+)\".*\\s*", "$1");
            String value = line.replaceAll(".*\"value\":([-\\d.E]+).*\\s*", "$1");
            values.put(metric, Double.parseDouble(value));
        }
        return values;
    }

    private static void burn(long nanos) {
        long begun = CPU.getCurrentThreadCpuTime();
        while (CPU.getCurrentThreadCpuTime() - begun < nanos) {
            Thread.onSpinWait();
        }
    }

    /** Runs on a thread of the executor's name, and writes before that ends. */
    private Map<String, Double> afterwards(Runnable work) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        CountDownLatch seen = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            agent.task(2).executor.ownThread();
            work.run();
            done.countDown();
            try {
                seen.await();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }, EXECUTOR);
        thread.start();
        done.await();
        Map<String, Double> values = written();
        seen.countDown();
        thread.join();
        return values;
    }

    private WatchedWait waiting() {
        WatchedWait wait = new WatchedWait();
        wait.prepare(conf, WaitSituation.BOLT_WAIT);
        return wait;
    }

    private static void idle(WatchedWait wait, int counter) {
        try {
            wait.idle(counter);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    @Test
    void aThreadThatAlwaysWantsACoreHasOneOrIsDelayed() throws InterruptedException {
        List<Thread> others = new ArrayList<>();
        for (int place = 0; place < 2 * Runtime.getRuntime().availableProcessors(); place++) {
            others.add(new Thread(() -> burn(SECOND / 4)));
        }
        long[] wall = {0};
        others.forEach(Thread::start);
        Map<String, Double> values = afterwards(() -> {
            long begun = System.nanoTime();
            burn(SECOND / 4);
            wall[0] = System.nanoTime() - begun;
        });
        for (Thread other : others) {
            other.join();
        }
        double wanted = values.get("executor_cpu") + values.get("executor_run_delay");
        // What the host takes from a virtual machine counts as neither.
        assertEquals(wall[0], wanted, 0.1 * wall[0]);
        assertTrue(values.get("executor_run_delay") > 0.3 * wall[0]);
        assertTrue(values.get("worker_run_delay") >= values.get("executor_run_delay"));
    }

    @Test
    void groupsOfThreadsAddUpToTheProcess() throws InterruptedException {
        Thread timer = new Thread(() -> burn(SECOND / 5), "heartbeat-timer");
        timer.start();
        Map<String, Double> values = afterwards(() -> {
            burn(SECOND / 2);
            while (timer.isAlive() && CPU.getThreadCpuTime(timer.getId()) < SECOND / 6) {
                Thread.onSpinWait();
            }
        });
        double groups = 0.0;
        for (String group : List.of("executor_cpu", "timer_threads_cpu", "gc_cpu", "jit_cpu")) {
            groups += values.getOrDefault(group, 0.0);
        }
        assertTrue(values.get("executor_cpu") >= SECOND / 2.0);
        // The rest is this thread's own, and whatever else the virtual machine does.
        assertEquals(values.get("worker_cpu"), groups, 0.25 * SECOND);
    }

    @Test
    void theSystemsAccountsAddUpToTheProcess() {
        Map<Long, ProcFiles.NativeThread> before = ProcFiles.threads(Map.of());
        com.sun.management.OperatingSystemMXBean process =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long began = process.getProcessCpuTime();
        burn(SECOND);
        long spent = process.getProcessCpuTime() - began;
        long summed = 0;
        for (Map.Entry<Long, ProcFiles.NativeThread> one
            : ProcFiles.threads(before).entrySet()) {
            summed += one.getValue().since(before.get(one.getKey())).cpu();
        }
        assertEquals(spent, summed, 0.1 * SECOND);
    }

    @Test
    void waitsThatAreLookedAtStandForAll() throws InterruptedException {
        WatchedWait wait = waiting();
        Map<String, Double> values = afterwards(() -> {
            for (int park = 0; park < 10_000; park++) {
                idle(wait, PARKS);
            }
        });
        // The thread did nothing but wait.
        assertEquals(1.0, values.get("executor_idle_cpu") / values.get("executor_cpu"), 0.4);
        assertTrue(values.get("executor_idle_run_delay") > 0.0);
    }

    @Test
    void workBetweenWaitsIsNotIdle() throws InterruptedException {
        WatchedWait wait = waiting();
        Map<String, Double> values = afterwards(() -> {
            for (int round = 0; round < 1_000; round++) {
                burn(SECOND / 1_000);
                idle(wait, 0);
                idle(wait, PARKS);
            }
        });
        assertTrue(values.get("executor_cpu") >= SECOND);
        assertTrue(values.get("executor_idle_cpu") < 0.2 * SECOND);
    }

    @Test
    void aWorkerSaysHowManyBytesItsNetworkThreadsWrote() throws Exception {
        assertEquals(12_345.0, sentBytes(Map.of("client-worker-1", 12_345)));
    }

    @Test
    void whatWakesUpNetworkThreadsGoesNowhere() throws Exception {
        // The sender's bytes contain eight for each time that it was woken up, as the waker's do.
        assertEquals(1_000.0, sentBytes(Map.of("client-worker-1", 1_080, "Worker-Transfer", 80)));
    }

    /** What the agent says when threads of these names have written so many bytes. */
    private double sentBytes(Map<String, Integer> byThread) throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel to = SocketChannel.open(server.getLocalAddress())) {
                CountDownLatch done = new CountDownLatch(byThread.size());
                CountDownLatch seen = new CountDownLatch(1);
                List<Thread> senders = new ArrayList<>();
                byThread.forEach((name, bytes) -> senders.add(new Thread(() -> {
                    try {
                        to.write(ByteBuffer.allocate(bytes));
                        done.countDown();
                        seen.await();
                    } catch (IOException | InterruptedException failed) {
                        throw new IllegalStateException(failed);
                    }
                }, name)));
                senders.forEach(Thread::start);
                done.await();
                double sent = written().get("network_bytes_sent");
                seen.countDown();
                for (Thread sender : senders) {
                    sender.join();
                }
                return sent;
            }
        }
    }

    @Test
    void aWorkerSaysHowMuchItsExecutorsExecuted() {
        agent.task(2).input("lines", "default").executed.add(7);
        assertEquals(7.0, written().get("worker_executed"));
    }
}
