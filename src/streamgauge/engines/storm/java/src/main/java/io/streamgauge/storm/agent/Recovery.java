package io.streamgauge.storm.agent;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Finishes files whose writer died: cuts a torn last line and gives them their final names. */
public final class Recovery {
    private static final int CHUNK = 1 << 16;

    private Recovery() {
    }

    /** Recovers what lies in the folders named, and says what that was. */
    public static void main(String[] folders) throws IOException {
        for (String folder : folders) {
            for (Path file : of(Path.of(folder))) {
                System.out.println(file);
            }
        }
    }

    /** The files that got their names; those of living writers are left alone. */
    static List<Path> of(Path folder) throws IOException {
        List<Path> left = new ArrayList<>();
        try (Stream<Path> all = Files.list(folder)) {
            all.filter(path -> {
                String name = path.getFileName().toString();
                return name.startsWith("." + LineFiles.PREFIX) && name.endsWith(LineFiles.ENDING);
            }).forEach(left::add);
        }
        List<Path> recovered = new ArrayList<>();
        for (Path file : left) {
            Path name = finished(file);
            if (name != null) {
                recovered.add(name);
            }
        }
        return recovered;
    }

    private static Path finished(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(
            file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            FileLock lock = channel.tryLock();
            if (lock == null) {
                return null;
            }
            long end = endOfLastLine(channel);
            channel.truncate(end);
            if (end == 0) {
                Files.delete(file);
                return null;
            }
            Path name = file.resolveSibling(file.getFileName().toString().substring(1));
            Files.move(file, name);
            return name;
        } catch (OverlappingFileLockException ownProcess) {
            return null;
        }
    }

    private static long endOfLastLine(FileChannel channel) throws IOException {
        ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
        for (long end = channel.size(); end > 0; ) {
            long start = Math.max(0, end - CHUNK);
            chunk.clear().limit((int) (end - start));
            while (chunk.hasRemaining() && channel.read(chunk, start + chunk.position()) >= 0) {
                continue;
            }
            for (int place = chunk.position() - 1; place >= 0; place--) {
                if (chunk.get(place) == '\n') {
                    return start + place + 1;
                }
            }
            end = start;
        }
        return 0;
    }
}
