package io.streamgauge.storm.topology;

import static io.streamgauge.storm.topology.Programs.bolt;
import static io.streamgauge.storm.topology.Programs.input;
import static io.streamgauge.storm.topology.Programs.output;
import static io.streamgauge.storm.topology.Programs.poisson;
import static io.streamgauge.storm.topology.Programs.program;
import static io.streamgauge.storm.topology.Programs.shuffled;
import static io.streamgauge.storm.topology.Programs.window;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProgramTopologyTest {
    private static final String OUT = "{\"name\": \"out\"}";

    private static ComponentCommon work(String json) {
        return ProgramTopology.build(json).get_bolts().get("work").get_common();
    }

    private static String message(String json) {
        return assertThrows(ProgramException.class, () -> ProgramTopology.build(json)).getMessage();
    }

    @Test
    void componentsHaveTheirTasksExecutorsAndStreams() {
        String json = program(true, poisson("in"), bolt("work", shuffled("in", ""), OUT, ""));
        StormTopology topology = ProgramTopology.build(json);
        ComponentCommon common = topology.get_bolts().get("work").get_common();
        assertEquals(1, common.get_parallelism_hint());
        assertTrue(common.get_json_conf().contains("\"topology.tasks\":2"));
        assertEquals(List.of("out"), List.copyOf(common.get_streams().keySet()));
        assertEquals(List.of("in"), List.copyOf(topology.get_spouts().keySet()));
    }

    @Test
    void settingsAreThoseOfTheProgramWithWholeNumbersWhole() {
        assertEquals(
                Map.of("topology.workers", 2L, "topology.max.spout.pending", 100L),
                ProgramTopology.configuration(program(true, poisson("in"), "")));
    }

    @ParameterizedTest
    @CsvSource({
        "shuffle, shuffle",
        "local-or-shuffle, local_or_shuffle",
        "fields, fields",
        "partial-key, custom_serialized",
        "all, all",
        "global, fields",
        "direct, direct",
    })
    void groupingsAreStormsOwn(String kind, String expected) {
        String json = program(true, poisson("in"),
                bolt("work", input("in", "{\"kind\": \"" + kind + "\"}", ""), "", ""));
        Grouping grouping = work(json).get_inputs().get(new GlobalStreamId("in", "default"));
        assertEquals(expected, grouping.getSetField().getFieldName());
    }

    @Test
    void sharesAreDealtByTheRowOfTheSender() {
        ShareGrouping grouping = new ShareGrouping(
                new double[][] {{0.25, 1.0}, {1.0, 1.0}}, 1L);
        Task task = new Task(program(true, poisson("in"),
                bolt("work", shuffled("in", ""), "", "")), "in", Map.of());
        grouping.prepare(task.context, new GlobalStreamId("in", "default"), List.of(3, 4));
        int second = 0;
        for (int count = 0; count < 4000; count++) {
            second += grouping.chooseTasks(1, List.of()).get(0) == 4 ? 1 : 0;
            assertEquals(List.of(3), grouping.chooseTasks(2, List.of()));
        }
        assertEquals(3000, second, 140);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "\"length_tuples\": 4, \"slide_tuples\": 2|window.length.count\":4|interval.count\":2",
        "\"length_tuples\": 4, \"slide_ms\": 50|window.length.count\":4|interval.duration.ms\":50",
        "\"length_ms\": 90, \"slide_tuples\": 2|length.duration.ms\":90|interval.count\":2",
        "\"length_ms\": 90, \"slide_ms\": 90|length.duration.ms\":90|interval.duration.ms\":90",
    })
    void windowsAreStormsOwn(String extent, String length, String slide) {
        String conf = work(program(true, poisson("in"), bolt("work", shuffled("in", ""), OUT,
                window(extent, output("out", "1", "1"))))).get_json_conf();
        assertTrue(conf.contains(length) && conf.contains(slide), conf);
    }

    @Test
    void aWrongValueIsNamedWithItsPlace() {
        String bad = input("in", "{\"kind\": \"sideways\"}", "");
        assertTrue(message(program(true, poisson("in"), bolt("work", bad, "", "")))
                .startsWith("bolts[0].inputs[0].grouping.kind: \"sideways\"; expected one of"));
    }

    @Test
    void aMissingValueIsNamedWithItsPlace() {
        String json = program(true, poisson("in"), "").replace("\"replays\": false, ", "");
        assertEquals("sources[0].replays: nothing; expected a value", message(json));
    }

    @Test
    void aRateIsNeededForEveryTask() {
        String json = program(true, poisson("in"), "").replace("[5, 5]", "[5]");
        assertEquals("sources[0].emissions[0].per_second: [5]; expected 2 rates, one for each task",
                message(json));
    }

    @Test
    void whatIsNoJsonOrOfAnotherFormatIsRefused() {
        assertTrue(message("{\"streamgauge\": ").startsWith("no JSON"));
        String json = program(true, poisson("in"), "")
                .replace("\"streamgauge\": 1", "\"streamgauge\": 9");
        assertEquals("streamgauge: 9; expected format 1", message(json));
    }
}
