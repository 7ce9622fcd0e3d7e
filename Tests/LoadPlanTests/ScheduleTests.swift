import LoadEngine
import TestSupport
import Testing

@Suite("Schedule and arrivals")
struct ScheduleTests {
    @Test("the load ramps from the end of the previous stage, jumps, and holds")
    func levels() throws {
        let schedule = Schedule(try Stages(parsing: "10s:100,10s,10s:=300,10s:0"))
        let levels = [0, 5, 10, 15, 19.999, 20, 25, 30, 35].map { schedule.level(at: .seconds($0)) }
        #expect(levels == [0, 50, 100, 100, 100, 300, 300, 300, 150])
        #expect(schedule.level(at: .seconds(40)) == 0)
        #expect(schedule.level(at: .seconds(-1)) == 0)
        #expect(schedule.total == 500 + 1000 + 3000 + 1500)
        #expect(schedule.duration == .seconds(40))
    }

    @Test("the warm-up precedes the stages and has the load of the first")
    func warmup() throws {
        let schedule = Schedule(try Stages(parsing: "10s:100,10s"), warmup: .seconds(5))
        #expect(schedule.level(at: .seconds(1)) == 100)
        #expect(schedule.name(at: .seconds(1)) == "warm-up")
        #expect(schedule.level(at: .seconds(5)) == 0)
        #expect(schedule.level(at: .seconds(10)) == 50)
        #expect(schedule.duration == .seconds(25))
        #expect(schedule.warmup == .seconds(5))
    }

    @Test("the integral of the load reaches an amount at the time of the amount", arguments: 0..<20 as Range<UInt64>)
    func inverse(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var stages: [Stage] = []
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let level = Double(Int.random(in: 0...1000, using: &generator))
            let shape: Stage.Shape = Bool.random(using: &generator) ? .ramp(to: level) : .at(level)
            stages.append(Stage(shape, for: .milliseconds(Int.random(in: 0...5000, using: &generator))))
        }
        stages.append(Stage(.at(10), for: .seconds(1)))
        let schedule = Schedule(try Stages(stages, .perSecond, place: "seed \(seed)"))
        // The integral by the midpoint rule, which is exact for a linear load if a step is within one stage.
        var integral = 0.0
        var time = Duration.zero
        for stage in stages {
            let step = stage.duration / 1000
            for _ in 0..<1000 {
                integral += schedule.level(at: time + step / 2) * (step / .seconds(1))
                time += step
            }
            guard stage.duration > .zero, schedule.level(at: time - step) > 0, integral < schedule.total - 1e-6
            else { continue }
            let found = try #require(schedule.time(of: integral), "seed \(seed)")
            #expect(abs((found - time) / .seconds(1)) < 2e-3 || schedule.level(at: time) == 0, "seed \(seed)")
        }
        #expect(abs(integral - schedule.total) < 1e-6 * max(1, integral), "seed \(seed)")
        #expect(schedule.time(of: schedule.total) == nil)
    }

    @Test("constant arrivals are evenly spaced, and their number is rate times time")
    func constant() throws {
        var arrivals = Arrivals(.constant, Schedule(try Stages(parsing: "2s:=500/s")), seed: 1)
        var times: [Duration] = []
        while let time = arrivals.next() { times.append(time) }
        #expect(times.count == 1000)
        #expect(times.first == .zero)
        for (number, time) in times.enumerated() {
            #expect(abs(time / .seconds(1) - Double(number) / 500) < 1e-9)
        }
    }

    @Test("arrivals of a ramp are in order, and their number is the ramp's area")
    func ramp() throws {
        var arrivals = Arrivals(.constant, Schedule(try Stages(parsing: "10s:100/s,10s:0/s")), seed: 1)
        var (last, count, early) = (Duration.zero, 0, 0)
        while let time = arrivals.next() {
            #expect(time >= last)
            last = time
            count += 1
            if time < .seconds(5) { early += 1 }
        }
        #expect(count == 1000)
        #expect(early == 125)
    }

    @Test("Poisson arrivals have the rate's mean and variance, and are repeatable by their seed")
    func poisson() throws {
        let schedule = Schedule(try Stages(parsing: "1000s:=100/s"))
        var (one, again, other) = (
            Arrivals(.poisson, schedule, seed: 7), Arrivals(.poisson, schedule, seed: 7),
            Arrivals(.poisson, schedule, seed: 8)
        )
        var counts = [Int](repeating: 0, count: 1000)
        var differs = false
        while let time = one.next() {
            #expect(again.next() == time)
            if other.next() != time { differs = true }
            counts[Int(time.components.seconds)] += 1
        }
        #expect(again.next() == nil)
        #expect(differs)
        let mean = Double(counts.reduce(0, +)) / 1000
        let variance = counts.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / 1000
        // Five standard errors of each.
        #expect(abs(mean - 100) < 5 * 0.316)
        #expect(abs(variance - 100) < 5 * 4.5)
    }
}
