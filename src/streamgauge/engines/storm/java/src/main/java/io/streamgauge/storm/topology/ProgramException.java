package io.streamgauge.storm.topology;

/** A program that cannot be run: where, what was seen, what was expected. */
public final class ProgramException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    ProgramException(String place, String seen, String expected) {
        super((place.isEmpty() ? "" : place + ": ") + seen + "; expected " + expected);
    }
}
