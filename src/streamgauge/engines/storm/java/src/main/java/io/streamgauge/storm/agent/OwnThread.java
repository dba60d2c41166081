package io.streamgauge.storm.agent;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What Linux says of the thread that asks: its number, and its time without a core.
 *
 * <p>Names of threads are cut after fifteen letters there, so a thread asks for its own number
 * once. Only the thread itself may use this.
 */
final class OwnThread {
    /** Where nobody knows. */
    static final long UNKNOWN = -1;

    private static final Path SELF = Path.of("/proc/thread-self");
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    // Three numbers of at most twenty digits, two blanks and a line feed.
    private static final int LONGEST = 63;

    private final long number;
    private final RandomAccessFile account;
    private final byte[] text = new byte[LONGEST];

    private OwnThread(long number, RandomAccessFile account) {
        this.number = number;
        this.account = account;
    }

    /** The current thread. */
    static OwnThread current() {
        try {
            Path self = Files.readSymbolicLink(SELF).getFileName();
            RandomAccessFile account =
                new RandomAccessFile(ProcFiles.account(self.toString()).toFile(), "r");
            return new OwnThread(Long.parseLong(self.toString()), account);
        } catch (IOException | RuntimeException notLinux) {
            return new OwnThread(UNKNOWN, null);
        }
    }

    /** The system's number of the thread. */
    long number() {
        return number;
    }

    static long cpuNanos() {
        return CPU.getCurrentThreadCpuTime();
    }

    /** How long it has wanted a core in vain. Unlike a channel, the file survives interrupts. */
    long runDelayNanos() {
        if (account == null) {
            return UNKNOWN;
        }
        try {
            account.seek(0);
            int length = account.read(text);
            return length <= 0 ? UNKNOWN
                : ProcFiles.parseAccount(new String(text, 0, length)).runDelay();
        } catch (IOException | RuntimeException unreadable) {
            return UNKNOWN;
        }
    }
}
