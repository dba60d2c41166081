package io.streamgauge.storm.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LineFilesTest {
    private static final String LINE = "x".repeat(1023) + "\n";

    @TempDir
    Path folder;

    private final AtomicLong now = new AtomicLong();

    private LineFiles files(Path where, long maxBytes) {
        return new LineFiles(where, "words-n1-6700", 42, maxBytes, now::get);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aFileGetsItsNameWhenItIsFinished() throws IOException {
        LineFiles files = files(folder, 1 << 20);
        files.write(List.of("a\n"));
        assertEquals(List.of(".streamgauge-words-n1-6700-42-0001.jsonl"), names());
        files.close();
        assertEquals(List.of("streamgauge-words-n1-6700-42-0001.jsonl"), names());
    }

    @Test
    void everyMinuteANewFileBegins() throws IOException {
        try (LineFiles files = files(folder, 1 << 20)) {
            files.write(List.of("a\n"));
            now.set(60_000);
            files.write(List.of("b\n"));
            files.write(List.of("c\n"));
        }
        Path first = folder.resolve("streamgauge-words-n1-6700-42-0001.jsonl");
        Path second = folder.resolve("streamgauge-words-n1-6700-42-0002.jsonl");
        assertEquals("a\nb\n", Files.readString(first));
        assertEquals("c\n", Files.readString(second));
    }

    @Test
    void theOldestFilesGoWhenTheBoundIsReached() throws IOException {
        try (LineFiles files = files(folder, 1 << 20)) {
            for (int kilobyte = 0; kilobyte < 3_000; kilobyte++) {
                files.write(List.of(LINE));
            }
        }
        long bytes = 0;
        for (String name : names()) {
            bytes += Files.size(folder.resolve(name));
        }
        assertTrue(bytes <= 1 << 20);
        assertTrue(bytes > 1 << 19);
        assertFalse(names().contains("streamgauge-words-n1-6700-42-0001.jsonl"));
    }

    @Test
    void filesOfOthersAreNeverRemoved() throws IOException {
        Files.write(folder.resolve("streamgauge-words-n1-6701-1-0001.jsonl"), new byte[2 << 20]);
        try (LineFiles files = files(folder, 1 << 20)) {
            files.write(List.of(LINE));
        }
        assertEquals(2, names().size());
    }

    @Test
    void linesAreDroppedAndCountedWhereNothingCanBeWrittenAndThenGoOn() throws IOException {
        Path blocked = folder.resolve("blocked");
        Files.writeString(blocked, "a file where the folder should be");
        LineFiles files = files(blocked, 1 << 20);
        files.write(List.of("a\n", "b\n"));
        files.write(List.of("c\n"));
        assertEquals(3, files.dropped());
        Files.delete(blocked);
        files.write(List.of("d\n"));
        files.close();
        assertEquals(3, files.dropped());
        try (Stream<Path> all = Files.list(blocked)) {
            assertEquals("d\n", Files.readString(all.findFirst().orElseThrow()));
        }
    }

    @Test
    void aTornLineIsCutFromWhatADeadProcessLeft() throws IOException {
        String name = "streamgauge-words-n1-6700-7-0003.jsonl";
        Files.writeString(folder.resolve("." + name), "a\nb\n{\"type\":\"sam");
        assertEquals(List.of(folder.resolve(name)), Recovery.of(folder));
        assertEquals("a\nb\n", Files.readString(folder.resolve(name)));
    }

    @Test
    void aFileWithoutAWholeLineIsRemoved() throws IOException {
        Files.writeString(folder.resolve(".streamgauge-words-n1-6700-7-0003.jsonl"), "{\"type");
        assertEquals(List.of(), Recovery.of(folder));
        assertEquals(List.of(), names());
    }

    @Test
    void theFileOfALivingWriterIsLeftAlone() throws IOException {
        try (LineFiles files = files(folder, 1 << 20)) {
            files.write(List.of("a\n"));
            assertEquals(List.of(), Recovery.of(folder));
            files.write(List.of("b\n"));
        }
        assertEquals("a\nb\n", Files.readString(folder.resolve(names().get(0))));
    }
}
