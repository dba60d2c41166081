package io.streamgauge.storm.agent;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of lines that one process writes, one after the other, never more than a bound in all.
 *
 * <p>A file is written under a name that starts with a dot and renamed when it is finished. What
 * a dead process left is finished by {@link Recovery}. Where nothing can be written, lines are
 * dropped and counted, the log says so once, and the next lines try again.
 */
final class LineFiles implements AutoCloseable {
    static final String PREFIX = "streamgauge-";
    static final String ENDING = ".jsonl";

    private static final Logger LOG = LoggerFactory.getLogger(LineFiles.class);
    private static final long MOST_MILLIS = 60_000;
    // A disk that is nearly full fails again and again; the log need not.
    private static final long QUIET_MILLIS = 600_000;
    private static final long MOST_FILE_BYTES = 64L << 20;
    // A bound holds several files, so that the oldest can go.
    private static final int FILES_IN_BOUND = 8;

    private final Path folder;
    private final String family;
    private final String stem;
    private final long maxBytes;
    private final LongSupplier clock;
    private int number;
    private Path open;
    private FileChannel channel;
    private long openedAt;
    private long goodBytes;
    private long dropped;
    private boolean told;
    private long quietUntil = Long.MIN_VALUE;
    private boolean thrownAway;

    /**
     * Files of the worker that `family` names (`TOPOLOGY-NODE-PORT`), of the process that began at
     * `startMillis`.
     */
    LineFiles(Path folder, String family, long startMillis, long maxBytes, LongSupplier clock) {
        this.folder = folder;
        this.family = PREFIX + family + "-";
        this.stem = this.family + startMillis + "-";
        this.maxBytes = maxBytes;
        this.clock = clock;
    }

    /** Whether an earlier process of the same worker left files here. */
    boolean hasPredecessor() {
        return !finished().isEmpty();
    }

    /** Appends whole lines; they are in the file when this returns, or dropped. */
    void write(List<String> lines) {
        if (lines.isEmpty()) {
            return;
        }
        try {
            ensureOpen();
            // Copied at once; an encoder goes letter by letter, which is most of what writing costs.
            byte[] text = String.join("", lines).getBytes(StandardCharsets.US_ASCII);
            ByteBuffer bytes = ByteBuffer.wrap(text);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            goodBytes = channel.position();
            succeeded();
            rotateIfDue();
            removeOldest();
        } catch (IOException | RuntimeException broken) {
            failed(lines.size(), broken);
        }
    }

    /** Lines that found no place so far. */
    long dropped() {
        return dropped;
    }

    /** Finishes the file in writing. */
    @Override
    public void close() {
        try {
            finish();
        } catch (IOException broken) {
            failed(0, broken);
        }
    }

    private void ensureOpen() throws IOException {
        if (channel != null) {
            // A write that failed half way must leave no torn line behind.
            channel.truncate(goodBytes);
            channel.position(goodBytes);
            return;
        }
        Files.createDirectories(folder);
        number++;
        open = folder.resolve("." + stem + String.format("%04d", number) + ENDING);
        channel = FileChannel.open(
            open, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        // Tells others that its writer lives; the lock goes with the process.
        channel.tryLock();
        openedAt = clock.getAsLong();
        goodBytes = 0;
    }

    private void rotateIfDue() throws IOException {
        long limit = Math.min(MOST_FILE_BYTES, maxBytes / FILES_IN_BOUND);
        if (goodBytes >= limit || clock.getAsLong() - openedAt >= MOST_MILLIS) {
            finish();
        }
    }

    private void finish() throws IOException {
        if (channel == null) {
            return;
        }
        FileChannel written = channel;
        channel = null;
        try (written) {
            written.truncate(goodBytes);
        }
        if (goodBytes == 0) {
            Files.deleteIfExists(open);
        } else {
            String name = open.getFileName().toString().substring(1);
            Files.move(open, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private void removeOldest() throws IOException {
        List<Path> files = finished();
        long total = channel == null ? 0 : goodBytes;
        for (Path file : files) {
            total += Files.size(file);
        }
        for (Path file : files) {
            if (total <= maxBytes) {
                return;
            }
            total -= Files.size(file);
            Files.deleteIfExists(file);
            if (!thrownAway) {
                thrownAway = true;
                LOG.warn("Metrics in {} have reached {} bytes: the oldest files are removed from"
                    + " now on. Collect them sooner, or raise streamgauge.agent.max.bytes.",
                    folder, maxBytes);
            }
        }
    }

    /** This worker's finished files, oldest first. */
    private List<Path> finished() {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.list(folder)) {
            all.filter(path -> {
                String name = path.getFileName().toString();
                return name.startsWith(family) && name.endsWith(ENDING);
            }).forEach(files::add);
        } catch (IOException noFolder) {
            return List.of();
        }
        files.sort(Comparator.comparingLong(LineFiles::modified).thenComparing(Path::toString));
        return files;
    }

    private static long modified(Path file) {
        try {
            return Files.getLastModifiedTime(file).toMillis();
        } catch (IOException gone) {
            return 0;
        }
    }

    private void failed(int lines, Exception broken) {
        dropped += lines;
        if (!told && clock.getAsLong() >= quietUntil) {
            told = true;
            quietUntil = clock.getAsLong() + QUIET_MILLIS;
            LOG.warn("Cannot write metrics to {}: {}. Lines are dropped until it can be written;"
                + " the topology is not affected.", folder, broken.toString());
        }
    }

    private void succeeded() {
        if (told) {
            told = false;
            LOG.info("Metrics are written to {} again; {} lines were dropped so far.", folder,
                dropped);
        }
    }
}
