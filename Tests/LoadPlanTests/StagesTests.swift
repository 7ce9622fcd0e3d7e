import LoadPlan
import TestSupport
import Testing

@Suite("Stages")
struct StagesTests {
    @Test(
        "what is read as stages is written as the same text",
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
        "each thing that is no stage is refused with its place",
        arguments: [
            ("", "--stages, stage 1: "), ("30s:100,", "--stages, stage 2: "), ("30:100", "--stages, stage 1: "),
            ("30s:x", "--stages, stage 1: `x`"), ("30s:-5", "--stages, stage 1: `-5`"),
            ("30s:1.5", "--stages, stage 1: `1.5`"), ("30s:100,30s:100/s", "--stages, stage 2: the stages before"),
            ("0s:100", "--stages: the stages take no time"), ("30s:0", "--stages: no stage has a load"),
            ("40d:100", "--stages: a run takes at most 31 days"), ("30s:1e3", "--stages, stage 1: `1e3`"),
        ]
    )
    func refused(text: String, message: String) {
        let problem = #expect(throws: PlanProblem.self) { try Stages(parsing: text) }
        #expect(problem?.description.hasPrefix(message) == true, "\(problem?.description ?? "")")
    }

    @Test("a file gives names and the same stages as the text")
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

    @Test("aliases in a file are refused before they are followed", arguments: ManyLaughs.texts)
    func aliases(text: String) {
        let error = #expect(throws: PlanError.self) { try Stages(yaml: text, source: "s.yaml") }
        #expect(error?.problems.map(\.place) == ["s.yaml:2"])
    }

    @Test("a file's mistakes are told all at once, each with its line")
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
        #expect(lines.contains("s.yaml:2: there is no `fr`; did you mean `for`?"), "\(lines)")
        #expect(lines.contains("s.yaml:2: a stage says how long it takes, as `for: 30s`"), "\(lines)")
        #expect(lines.contains("s.yaml:4: `for` takes a time, as 30s, 5m or 1h"), "\(lines)")
        #expect(lines.contains("s.yaml:7: a stage ramps or jumps: `ramp_to` or `at`, not both"), "\(lines)")
        #expect(lines.contains("s.yaml:9: the stages before count a rate (/s)"), "\(lines)")
        #expect(lines.contains("s.yaml:10: there is no `stage`; did you mean `stages`?"), "\(lines)")
    }

    @Test(
        "what is no file of stages is refused with its line",
        arguments: [
            ("", "s.yaml: it is empty"), ("- 1", "s.yaml:1: `stages:` with a list is expected here"),
            ("stages: 5", "s.yaml:1: `stages` is a list, each with `for:`"),
            ("stages:\n  - 5", "s.yaml:2: a stage is a mapping, as `{for: 30s, ramp_to: 100}`"),
            ("stages: [\n", "s.yaml:2: not YAML"), ("stages: 1\nstages: 2\n", "s.yaml:"),
        ]
    )
    func noFile(text: String, message: String) {
        let error = #expect(throws: PlanError.self) { try Stages(yaml: text, source: "s.yaml") }
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    }
}
