package io.streamgauge.storm.agent;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What Linux says of the machine and of this process; below zero where it does not. */
final class ProcFiles {
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path STAT = Path.of("/proc/stat");
    // What write and its kin were given, of sockets as well as of files.
    private static final String WRITTEN = "wchar:";
    private static final String ALLOWED = "Cpus_allowed_list:";
    private static final Pattern CORE = Pattern.compile("cpu(\\d+)");
    // The unit of /proc/stat is fixed for programs, whatever the kernel's own.
    private static final long NANOS_PER_TICK = 10_000_000;
    private static final int IDLE = 4;
    private static final int WAITING_FOR_DISKS = 5;
    private static final int STOLEN = 8;

    private ProcFiles() {
    }

    /** The file that says how long a thread has had a core, and wanted one. */
    static Path account(String thread) {
        return TASKS.resolve(thread).resolve("schedstat");
    }

    static Account parseAccount(String text) {
        String[] times = text.strip().split(" ");
        return new Account(Long.parseLong(times[0]), Long.parseLong(times[1]));
    }

    /**
     * All threads of this process by their numbers, those of the virtual machine too; null where
     * the system does not tell.
     *
     * @param before what was found before, whose names are not read again
     */
    static Map<Long, NativeThread> threads(Map<Long, NativeThread> before) {
        Map<Long, NativeThread> found = new HashMap<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path task : tasks) {
                String number = task.getFileName().toString();
                NativeThread known = before.get(Long.parseLong(number));
                NativeThread now = thread(task, known);
                if (now != null) {
                    found.put(Long.parseLong(number), now);
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
        // A kernel that keeps no such account says zero of everybody.
        boolean told = found.values().stream().anyMatch(one -> one.account.runDelay > 0);
        return told ? found : null;
    }

    private static NativeThread thread(Path task, NativeThread known) {
        try {
            Account account = parseAccount(Files.readString(task.resolve("schedstat")));
            boolean same = known != null && known.account().cpu() <= account.cpu();
            String name = same ? known.name() : Files.readString(task.resolve("comm")).strip();
            return new NativeThread(name, account);
        } catch (IOException ended) {
            return null;
        }
    }

    /** Bytes that a thread has handed to the system to write; below zero where nobody tells. */
    static long writtenBytes(long thread) {
        try {
            Path account = TASKS.resolve(Long.toString(thread)).resolve("io");
            for (String line : Files.readAllLines(account)) {
                if (line.startsWith(WRITTEN)) {
                    return Long.parseLong(line.substring(WRITTEN.length()).strip());
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return -1;
        }
        return -1;
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

    /** CPU time of the cores that this process may use and time that their host took, or null. */
    static Machine machine() {
        try {
            BitSet allowed = parseAllowed(Files.readAllLines(STATUS));
            return parseMachine(Files.readAllLines(STAT), allowed, System.nanoTime());
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
    }

    /** The cores that the lines of {@code /proc/self/status} allow, such as 0-3 and 8. */
    static BitSet parseAllowed(List<String> lines) {
        BitSet allowed = new BitSet();
        for (String line : lines) {
            if (line.startsWith(ALLOWED)) {
                for (String range : line.substring(ALLOWED.length()).strip().split(",")) {
                    String[] ends = range.split("-");
                    int last = Integer.parseInt(ends[ends.length - 1]);
                    allowed.set(Integer.parseInt(ends[0]), last + 1);
                }
            }
        }
        return allowed;
    }

    /**
     * Some cores of the machine by the lines of {@code /proc/stat} at a moment.
     *
     * <p>Busy is what cores are not idle. The kernel's busy times are counted by ticks of its clock
     * and miss most of what threads do that sleep and wake; how long cores are idle it measures.
     */
    static Machine parseMachine(List<String> lines, BitSet allowed, long nanos) {
        long cores = 0;
        long idle = 0;
        long stolen = 0;
        for (String line : lines) {
            String[] fields = line.split("\\s+");
            Matcher core = CORE.matcher(fields[0]);
            if (core.matches() && allowed.get(Integer.parseInt(core.group(1)))) {
                cores += 1;
                idle += Long.parseLong(fields[IDLE]) + Long.parseLong(fields[WAITING_FOR_DISKS]);
                stolen += fields.length > STOLEN ? Long.parseLong(fields[STOLEN]) : 0;
            }
        }
        return new Machine(
            cores, cores * nanos - (idle + stolen) * NANOS_PER_TICK, stolen * NANOS_PER_TICK);
    }

    /** Cores, and nanoseconds since some moment. */
    record Machine(long cores, long busy, long stolen) {
    }

    /** Nanoseconds on a core, and runnable without one, since a thread started. */
    record Account(long cpu, long runDelay) {
    }

    /** A thread as the system knows it: its name has at most fifteen letters. */
    record NativeThread(String name, Account account) {
        /** What it has spent since an earlier look; everything where there was none. */
        Account since(NativeThread earlier) {
            boolean same = earlier != null && earlier.account.cpu <= account.cpu;
            return same
                ? new Account(
                    account.cpu - earlier.account.cpu, account.runDelay - earlier.account.runDelay)
                : account;
        }
    }
}
