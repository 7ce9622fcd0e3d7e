@testable import LoadEngine
import Testing

@Suite("Merging the parts of one load")
struct MergeTests {
    private static func part(_ number: Int, of count: Int = 2, seed: UInt64, slowdown: Double = 1) -> RunResult {
        var result = SampleRun.result(seed: seed, slowdown: slowdown)
        result.setting.plan.append(PlanEntry("part", "\(number)/\(count)"))
        return result
    }

    @Test("counts and histograms are those of one run with all operations")
    func exact() throws {
        let parts = [Self.part(1, seed: 1), Self.part(2, seed: 2, slowdown: 3)]
        let merged = try RunResult.merged(parts)
        for operation in LoadEngine.Operation.allCases {
            var both = parts[0].totals.figures(of: operation)
            both.add(parts[1].totals.figures(of: operation))
            #expect(merged.totals.figures(of: operation) == both)
        }
        #expect(merged.totals.duration == parts[0].totals.duration)
        #expect(merged.intervals.count == parts[0].intervals.count)
        let rates = parts.compactMap(\.totals.rate)
        #expect(try abs(#require(merged.totals.rate) - rates.reduce(0, +)) < 0.001)
        #expect(merged.totals.unsent == parts.map(\.totals.unsent).reduce(0, +))
        #expect(merged.setting.plan == SampleRun.plain.setting.plan)
        #expect(try RunResult(json: Array(merged.jsonText.utf8)) == merged)
    }

    @Test("the CPU time of one server that both parts measured counts once")
    func serverMeasuredTwice() throws {
        let parts = [Self.part(1, seed: 1), Self.part(2, seed: 1)]
        let merged = try RunResult.merged(parts)
        #expect(merged.totals.serverCPUSeconds == parts[0].totals.serverCPUSeconds)
        #expect(merged.totals.serverPeakResidentBytes == parts[0].totals.serverPeakResidentBytes)
        #expect(merged.totals.toolCPUSeconds == parts[0].totals.toolCPUSeconds.map { 2 * $0 })
    }

    @Test("a violation or a lost server in one part fails the whole")
    func failures() throws {
        var violated = SampleRun.violated(by: "a right PIN was called wrong")
        violated.setting.plan.append(PlanEntry("part", "2/2"))
        #expect(try RunResult.merged([Self.part(1, seed: 1), violated]).exitCode == 99)
        var lost = Self.part(2, seed: 2)
        lost.end = .lost
        #expect(try RunResult.merged([Self.part(1, seed: 1), lost]).end == .lost)
    }

    @Test("a threshold is evaluated for all operations and not taken from a part")
    func thresholds() throws {
        let condition = "service.p75<20ms"
        let parts = [(number: 1, slowdown: 1.0), (2, 50)].map { number, slowdown in
            var part = SampleRun.result(seed: 1, slowdown: slowdown, thresholds: [condition])
            part.setting.plan.append(PlanEntry("part", "\(number)/2"))
            return part
        }
        #expect(parts.map { $0.thresholds[0].verdict } == [.met, .failed])
        let merged = try RunResult.merged(parts)
        #expect(merged.thresholds.map(\.text) == [condition])
        #expect(merged.thresholds.map(\.verdict) == [.failed])
    }

    @Test("an additional interval at the end of one part is kept")
    func differentLengths() throws {
        var longer = Self.part(2, seed: 2)
        var tail = longer.intervals[longer.intervals.count - 1]
        (tail.start, tail.end) = (tail.end, tail.end + .seconds(1))
        tail.isTail = true
        longer.intervals.append(tail)
        let merged = try RunResult.merged([Self.part(1, seed: 1), longer])
        #expect(merged.intervals.count == longer.intervals.count)
        #expect(merged.totals.count == Self.part(1, seed: 1).totals.count + longer.totals.count)
        #expect(merged.totals.duration == longer.totals.duration)
    }

    @Test("a part that ended early shortens neither the time nor the page of the whole")
    func endedEarly() throws {
        var short = Self.part(1, seed: 1)
        short.intervals.removeLast(10)
        let last = short.intervals.count - 1
        short.intervals[last].end = short.intervals[last].start + .milliseconds(300)
        var tail = short.intervals[last]
        (tail.start, tail.end, tail.isTail) = (tail.end, tail.end + .milliseconds(200), true)
        short.intervals.append(tail)
        let whole = Self.part(2, seed: 2)
        let merged = try RunResult.merged([short, whole])
        #expect(merged.totals.duration == whole.totals.duration)
        let end = try #require(merged.intervals.last)
        #expect(end.isTail && end.end - end.start == .milliseconds(200))
        #expect(merged.text(as: .html).contains("Busy cores over time"))
        #expect(try RunResult(json: Array(merged.jsonText.utf8)) == merged)
    }

    @Test("parts whose times are as far apart as numbers can be are rejected")
    func farApart() {
        var (early, late) = (Self.part(1, seed: 1), Self.part(2, seed: 2))
        (early.setting.startMilliseconds, late.setting.startMilliseconds) = (.min, .max)
        #expect(throws: MergeError.apart(milliseconds: .max)) { try RunResult.merged([early, late]) }
    }

    @Test("results that are not parts of one load are rejected")
    func rejected() throws {
        let part = Self.part(1, seed: 1)
        #expect(throws: MergeError.tooFew) { try RunResult.merged([part]) }
        #expect(throws: MergeError.differs(setting: "part")) { try RunResult.merged([part, Self.part(1, seed: 2)]) }
        #expect(throws: MergeError.differs(setting: "part")) { try RunResult.merged([part, SampleRun.plain]) }
        var other = Self.part(2, seed: 2)
        other.setting.plan.append(PlanEntry("think", "1s"))
        #expect(throws: MergeError.differs(setting: "think")) { try RunResult.merged([part, other]) }
        var late = Self.part(2, seed: 2)
        late.setting.startMilliseconds += 1001
        #expect(throws: MergeError.apart(milliseconds: 1001)) { try RunResult.merged([part, late]) }
    }
}
