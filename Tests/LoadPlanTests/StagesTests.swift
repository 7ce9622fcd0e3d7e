import LoadEngine
import TestSupport
import Testing

@Suite("Stages")
struct StagesTests {
    @Test(
        "stages are written as the text that they were read from",
        arguments: [
            ("30s:100,2m:500,10s:=2000,1m", LoadUnit.connections, 220.0, 2000.0),
            ("30s:100/s,2m:=2.5k/s", .perSecond, 150, 2500),
            ("0ms:=50, 5s:50", .connections, 5, 50),
            ("1h", .connections, 0, 0),
        ]
    )
    func roundTrip(text: String, unit: LoadUnit, seconds: Double, peak: Double) throws {
        guard peak > 0 else {
            #expect(throws: PlanProblem.self) { try Stages(parsing: text) }
            return
        }
        let stages = try Stages(parsing: text)
        #expect(stages.unit == unit)
        #expect(stages.peak == peak)
        #expect(try Stages(parsing: stages.text) == stages)
        if !text.contains("0ms") { #expect(stages.duration == .seconds(seconds)) }
    }

    @Test(
        "each invalid stage is rejected with its position",
        arguments: [
            ("", "--stages, stage 1: "), ("30s:100,", "--stages, stage 2: "), ("30:100", "--stages, stage 1: "),
            ("30s:x", "--stages, stage 1: `x`"), ("30s:-5", "--stages, stage 1: `-5`"),
            ("30s:1.5", "--stages, stage 1: `1.5`"),
            ("30s:100,30s:100/s", "--stages, stage 2: the unit must be the same"),
            ("0s:100", "--stages: the stages have no duration"), ("30s:0", "--stages: no stage has a load"),
            ("40d:100", "--stages: a run takes at most 31 days"), ("30s:1e3", "--stages, stage 1: `1e3`"),
        ]
    )
    func invalidStage(text: String, message: String) {
        let problem = #expect(throws: PlanProblem.self) { try Stages(parsing: text) }
        #expect(problem?.description.hasPrefix(message) == true, "\(problem?.description ?? "")")
    }

    @Test("a file contains names and the same stages as the text")
    func file() throws {
        let stages = try Stages(
            yaml: """
                # a usual day
                stages:
                  - name: morning
                    for: 30s
                    ramp_to: 100/s
                  - for: 2m
                  - {name: spike, for: 10s, at: 2k/s}
                """,
            source: "day.yaml"
        )
        #expect(stages.text == "30s:100/s,2m,10s:=2k/s")
        #expect(stages.stages.map(\.name) == ["morning", "", "spike"])
        let schedule = Schedule(stages)
        #expect(schedule.name(at: .seconds(10)) == "morning")
        #expect(schedule.name(at: .seconds(31)) == "stage 2")
        #expect(schedule.name(at: .seconds(155)) == "spike")
    }

    @Test("aliases in a file are rejected before they are resolved", arguments: BillionLaughs.texts)
    func aliases(text: String) {
        let error = #expect(throws: PlanError.self) { try Stages(yaml: text, source: "s.yaml") }
        #expect(error?.problems.map(\.place) == ["s.yaml:2"])
    }

    @Test("all mistakes of a file are reported at once, each with its line")
    func mistakes() {
        let error = #expect(throws: PlanError.self) {
            try Stages(
                yaml: """
                    stages:
                      - fr: 30s
                        ramp_to: 100
                      - for: soon
                      - for: 10s
                        ramp_to: 100/s
                        at: 5
                      - for: 10s
                        at: 5
                    stage: 1
                    """,
                source: "s.yaml"
            )
        }
        let lines = error?.problems.map(\.description) ?? []
        #expect(lines.contains("s.yaml:2: `stages.fr` is not a known key; did you mean `for`?"), "\(lines)")
        #expect(
            lines.contains("s.yaml:2: `stages.for` must be set: a duration with a unit (ms, s, m, h or d)"),
            "\(lines)"
        )
        #expect(
            lines.contains("s.yaml:4: `stages.for` must be a duration with a unit (ms, s, m, h or d), not `soon`"),
            "\(lines)"
        )
        #expect(lines.contains("s.yaml:7: `stages.at` cannot be combined with `ramp_to`"), "\(lines)")
        #expect(lines.contains("s.yaml:9: the unit must be the same as in the earlier stages: a rate (/s)"), "\(lines)")
        #expect(lines.contains("s.yaml:10: `stage` is not a known key; did you mean `stages`?"), "\(lines)")
    }

    @Test(
        "an invalid file is rejected with its line",
        arguments: [
            ("", "s.yaml: `stages` must be set"), ("- 1", "s.yaml:1: the file must be a mapping with the keys stages"),
            (
                "stages: 5",
                "s.yaml:1: `stages` must be a mapping with the keys name, for, ramp_to, at, or a list of these"
            ),
            ("stages:\n  - 5", "s.yaml:2: `stages` must be a mapping with the keys name, for, ramp_to, at"),
            ("stages: [\n", "s.yaml:2: not YAML"), ("stages: 1\nstages: 2\n", "s.yaml:"),
        ]
    )
    func invalidFile(text: String, message: String) {
        let error = #expect(throws: PlanError.self) { try Stages(yaml: text, source: "s.yaml") }
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    }
}
