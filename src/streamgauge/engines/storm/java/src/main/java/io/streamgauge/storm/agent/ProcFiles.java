package io.streamgauge.storm.agent;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What Linux says of the machine and of this process; below zero where it does not. */
final class ProcFiles {
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path STAT = Path.of("/proc/stat");
    // The unit of /proc/stat is fixed for programs, whatever the kernel's own.
    private static final long NANOS_PER_TICK = 10_000_000;
    private static final List<String> COLLECTORS =
        List.of("GC Thread", "G1 ", "Shenandoah", "ZDriver", "ZWorker", "ZStat", "XDriver");
    private static final String SERIAL_THREAD = "VM Thread";
    private static final int USER = 1;
    private static final int NICE = 2;
    private static final int SYSTEM = 3;
    private static final int INTERRUPT = 6;
    private static final int SOFT_INTERRUPT = 7;
    private static final int STOLEN = 8;

    private ProcFiles() {
    }

    /** CPU time that the garbage collector's threads have spent. */
    static long collectorNanos() {
        boolean serial = ManagementFactory.getGarbageCollectorMXBeans().stream()
            .anyMatch(one -> one.getName().equals("Copy"));
        long nanos = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path task : tasks) {
                nanos += collectorNanos(task, serial);
            }
        } catch (IOException | RuntimeException unreadable) {
            return -1;
        }
        return nanos;
    }

    private static long collectorNanos(Path task, boolean serial) {
        try {
            String name = Files.readString(task.resolve("comm")).strip();
            boolean collects = COLLECTORS.stream().anyMatch(name::startsWith)
                || (serial && name.equals(SERIAL_THREAD));
            if (!collects) {
                return 0;
            }
            String[] times = Files.readString(task.resolve("schedstat")).strip().split(" ");
            return Long.parseLong(times[0]);
        } catch (IOException ended) {
            return 0;
        }
    }

    /** Memory that the process holds. */
    static double residentBytes() {
        try {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) * 1024.0;
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return Double.NaN;
        }
        return Double.NaN;
    }

    /** CPU time of the whole machine and time that its host took, or null. */
    static Machine machine() {
        try {
            String[] fields = Files.readAllLines(STAT).get(0).split("\\s+");
            long busy = 0;
            for (int field : new int[] {USER, NICE, SYSTEM, INTERRUPT, SOFT_INTERRUPT}) {
                busy += Long.parseLong(fields[field]);
            }
            long stolen = fields.length > STOLEN ? Long.parseLong(fields[STOLEN]) : 0;
            return new Machine(busy * NANOS_PER_TICK, stolen * NANOS_PER_TICK);
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
    }

    /** Nanoseconds since the machine started. */
    record Machine(long busy, long stolen) {
    }
}
