package io.streamgauge.storm.topology;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The factor by which rates are multiplied from outside, read from a file such as
 * {@code {"rate_factor": 2.0}}: warm-up at a raised rate, and 0 for a pause.
 */
final class RateControl {
    /** Name of the setting that says where the file is; it need not exist. */
    static final String FILE = "streamgauge.control.file";
    private static final Logger LOG = LoggerFactory.getLogger(RateControl.class);
    private static final long LOOK_EVERY_NANOS = 200_000_000;

    private final Path file;
    private FileTime seen;
    private long nextLook = System.nanoTime();
    private double factor = 1.0;

    RateControl(Map<String, Object> configuration) {
        Object name = configuration.get(FILE);
        file = name == null ? null : Path.of(name.toString());
    }

    double factor() {
        return factor;
    }

    /** Look at the file if it is time to; whether the factor is another one now. */
    boolean changes() {
        if (file == null || System.nanoTime() - nextLook < 0) {
            return false;
        }
        nextLook = System.nanoTime() + LOOK_EVERY_NANOS;
        double before = factor;
        try {
            if (Files.exists(file)) {
                FileTime modified = Files.getLastModifiedTime(file);
                if (!modified.equals(seen)) {
                    factor = Place.root(Files.readString(file)).at("rate_factor").amount();
                    seen = modified;
                }
            }
        } catch (IOException | ProgramException error) {
            // It may be in the middle of being written: the next look will tell.
            LOG.warn("Rates stay {}-fold: {} is unreadable: {}", factor, file, error.toString());
        }
        return factor != before;
    }
}
