import Foundation
@testable import LoadEngine
import Synchronization
import TestSupport
import Testing

@Suite("A run against a real server")
struct EngineTests {
    @Test("an open loop sends exactly what becomes due, and the server has counted each wrong PIN of it")
    func counts() async throws {
        let lab = try await LoadLab.start(wallets: 1, LoadLab.withoutBlocks)
        let plan = try LoadLab.plan("2s:=60/s") { plan in
            plan.mix = try Mix(parsing: "wrong=1")
            plan.pick = .single(index: 0)
            plan.openConnections = 4
        }
        let result = try await lab.run(plan)
        // A slow machine may leave some checks unsent, which are counted.
        let wrong = result.count(.wrong, of: .check)
        #expect(wrong > 0 && wrong + result.totals.unsent == 120, "\(wrong) \(result.totals.unsent) \(result.errors)")
        #expect(result.totals.count == wrong && result.totals.violations.count == 0)
        let report = try await lab.report(ofWallet: 0)
        #expect(report.contains("\"failures\":\(wrong),"), "\(report)")
        #expect(result.totals.serverCPUSeconds ?? 0 > 0)
        #expect(result.totals.verificationMicroseconds ?? 0 > 0)
        await lab.server.terminate()
    }

    @Test("parallel guesses on many connections are judged exactly as often as the policy allows")
    func attack() async throws {
        let lab = try await LoadLab.start(wallets: 1, LoadLab.withoutBlocks)
        let events = RunEvents()
        let plan = try LoadLab.plan("2m:=8") { plan in
            plan.mix = try Mix(parsing: "wrong=1")
            plan.pick = .single(index: 0)
        }
        let result = try await lab.run(plan, events: events) { moment in
            if moment.totals.figures().outcomes[.blockedPermanently] ?? 0 > 0 { events.interrupt() }
        }
        #expect(result.count(.wrong) == 256)
        #expect(result.count(.blockedPermanently) > 0)
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        #expect(result.end == .interrupted && result.exitCode == 130)
        await lab.server.terminate()
    }

    @Test("a stalled server raises the latency of all checks that were due, and the service time of only a few")
    func stall() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let plan = try LoadLab.plan("7s:=100/s") { $0.openConnections = 4 }
        let result = try await lab.run(plan, stoppingServerFor: 2)
        let figures = result.totals.figures()
        #expect(result.totals.count + result.totals.unsent == 700, "\(result.errors)")
        // More than a fifth of all checks was due in the stall: a tenth waited half of it or longer. Four were sent.
        let latency = try #require(figures.latency.percentile(90))
        let service = try #require(figures.serviceTime.percentile(90))
        #expect(latency > 500_000)
        #expect(service < latency / 2)
        #expect(figures.serviceTime.max ?? 0 > 2 * service)
        await lab.server.terminate()
    }

    @Test("a check due beyond the limit of checks in flight is counted as unsent")
    func unsent() async throws {
        let lab = try await LoadLab.start(wallets: 2)
        let plan = try LoadLab.plan("3s:=100/s") { plan in
            plan.openConnections = 2
            plan.maxInFlight = 10
        }
        let result = try await lab.run(plan, stoppingServerFor: 1)
        #expect(result.totals.count + result.totals.unsent == 300)
        #expect(result.totals.unsent > 50)
        await lab.server.terminate()
    }

    @Test(
        "with changed PINs, wrong PINs and changing wallets, a second run continues from the saved histories"
    )
    func mixed() async throws {
        let lab = try await LoadLab.start(wallets: 30)
        var plan = try LoadLab.plan("10m:=10") { plan in
            plan.mix = try Mix(parsing: "right=50,wrong=40,change-pin=5,register=5")
            plan.checksPerWallet = 5
        }
        let wanted: [Outcome] = [.valid, .wrong, .changed, .registered]
        for seed in 1...2 as ClosedRange<UInt64> {
            plan.seed = seed
            let events = RunEvents()
            let thresholds = ["unexpected==0", "violations==0", "errors==0"]
            let result = try await lab.run(plan, events: events, thresholds: thresholds) { moment in
                // Until each outcome occurred often enough, independent of the machine's speed.
                let figures = moment.totals.figures()
                let isSeen = wanted.allSatisfy { figures.outcomes[$0] != nil }
                if isSeen, figures.count >= 400, moment.totals.figures(of: .unlock).count > 0 { events.interrupt() }
            }
            #expect(result.exitCode == 130, "\(result.errors) \(result.totals.violations.examples)")
            for outcome in wanted { #expect(result.count(outcome) > 0, "\(outcome)") }
            #expect(result.count(.blocked) == 0)
            #expect(result.totals.figures(of: .unlock).count > 0 && result.totals.figures(of: .check).count > 0)
        }
        await lab.server.terminate()
    }

    @Test(
        "a check on a new connection is an unlock, with or without a ticket",
        arguments: [ConnectionUse.new, .resumed]
    )
    func unlocks(use: ConnectionUse) async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let events = RunEvents()
        let plan = try LoadLab.plan("10m:=2") { $0.connectionUse = Weights(only: use) }
        let result = try await lab.run(plan, events: events) { moment in
            if moment.totals.count >= 8 { events.interrupt() }
        }
        #expect(result.totals.figures(of: .unlock).count == result.totals.count)
        #expect(result.count(.valid, of: .unlock) > 2 && result.errors.isEmpty)
        let resumed = result.notes.first { $0.hasSuffix("connections were resumed with a ticket") }
        #expect((resumed != nil) == (use == .resumed))
        #expect(resumed?.hasPrefix("0 ") != true)
        await lab.server.terminate()
    }

    @Test("checks on the open connection, on new ones and on resumed ones are mixed by their weights")
    func mixedUse() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let events = RunEvents()
        let plan = try LoadLab.plan("10m:=2") { $0.connectionUse = try Weights(parsingUse: "warm=2,new=1,resumed=1") }
        let result = try await lab.run(plan, events: events) { moment in
            if moment.totals.count >= 100 { events.interrupt() }
        }
        let (unlocks, all) = (result.totals.figures(of: .unlock).count, result.totals.count)
        // Half of them, within about seven standard deviations.
        #expect(all >= 100 && unlocks > all * 3 / 20 && unlocks < all * 17 / 20, "\(unlocks) of \(all)")
        #expect(result.errors.isEmpty)
        let resumed = result.notes.first { $0.hasSuffix("connections were resumed with a ticket") }
        let count = Int(resumed?.prefix { $0.isNumber } ?? "")
        // Half of those, within the same range.
        #expect((unlocks * 3 / 20...unlocks * 17 / 20).contains(count ?? 0), "\(resumed ?? "") of \(unlocks)")
        await lab.server.terminate()
    }

    @Test("a second run with the same seed enters the same PINs with other attempt ids, which the server counts")
    func repeatedSeed() async throws {
        let lab = try await LoadLab.start(wallets: 40, LoadLab.withoutBlocks)
        let plan = try LoadLab.plan("2s:=40/s") { plan in
            plan.mix = try Mix(parsing: "wrong=1")
            plan.connectionUse = Weights(only: .new)
            plan.openConnections = 1
            plan.seed = 7
        }
        for _ in 0..<2 {
            let result = try await lab.run(plan)
            // On a machine of any speed, the second run repeats the checks of the first.
            #expect(result.count(.wrong) > 0, "\(result.errors)")
            #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        }
        await lab.server.terminate()
    }

    @Test("calls in flight when a run is ended early are in its figures, with their waiting time")
    func interruptedWhileHanging() async throws {
        let lab = try await LoadLab.start(wallets: 6)
        let events = RunEvents()
        let plan = try LoadLab.plan("10m:=6") { $0.timeout = .seconds(300) }
        let stop = Mutex<ContinuousClock.Instant?>(nil)
        let result = try await lab.run(plan, events: events) { moment in
            stop.withLock { stop in
                if let stop, stop + .milliseconds(2_500) < .now { events.interrupt() }
                guard stop == nil, moment.totals.count > 0 else { return }
                lab.server.send(SIGSTOP)
                stop = .now
            }
        }
        lab.server.send(SIGCONT)
        #expect(result.count(.interrupted) == 6, "\(result.errors)")
        #expect(result.totals.figures().latency.max ?? 0 > 2_000_000)
        #expect(result.totals.violations.count == 0)
        #expect(result.intervals.contains { $0.isTail && $0.totals.figures().outcomes.keys.contains(.interrupted) })
        await lab.server.terminate()
    }

    @Test("the figures contain neither the warm-up's part of a backlog nor the time after the plan's end")
    func backlog() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let plan = try LoadLab.plan("2s:=100/s") { plan in
            plan.warmup = .seconds(3)
            plan.openConnections = 4
            plan.timeout = .seconds(300)
        }
        // Until the plan's end, when 500 checks are waiting.
        let result = try await lab.run(plan, stoppingServerFor: 5)
        let (answered, unsent) = (result.totals.count, result.totals.unsent)
        #expect(answered + unsent == 200 && unsent < 100, "\(answered) \(unsent) \(result.errors) \(result.end)")
        #expect(result.totals.duration == .seconds(2))
        let tail = result.intervals.filter(\.isTail)
        #expect(tail.allSatisfy { $0.start >= .seconds(5) } && tail.reduce(0) { $0 + $1.totals.count } > 90)
        #expect(result.totals.rate ?? .infinity < 5, "nothing was answered in these two seconds")
        await lab.server.terminate()
    }

    @Test("a rate limit of the server is noted with its setting")
    func rateLimited() async throws {
        let limits = ["REMOTE_PIN_LIMITS_FRAMES_PER_SOURCE": "1", "REMOTE_PIN_LIMITS_FRAME_BURST_PER_SOURCE": "30"]
        let lab = try await LoadLab.start(wallets: 2, limits)
        let events = RunEvents()
        let result = try await lab.run(try LoadLab.plan("10m:=2"), events: events) { moment in
            if moment.totals.figures(of: nil).outcomes[.failed("refused:rate-limited")] != nil { events.interrupt() }
        }
        #expect(result.count(.valid) > 0)
        #expect(result.notes.contains { $0.contains(" calls were rate-limited") && $0.contains("frames-per-source") })
        await lab.server.terminate()
    }

    @Test("the number of connections follows the stages, and idle ones stay open")
    func stages() async throws {
        let lab = try await LoadLab.start(wallets: 20)
        // A slow machine needs longer stages.
        for seconds in [3, 15, 60] {
            let events = RunEvents()
            let plan = try LoadLab.plan("\(seconds)s:=3,\(seconds)s:=10,2m:=1") { plan in
                plan.idleConnections = 5
                plan.think = try ThinkTime(parsing: "10ms..20ms")
            }
            let result = try await lab.run(plan, events: events) { moment in
                let isLast = moment.interval.start >= .seconds(2 * seconds)
                if isLast, moment.interval.gauges.connections == 6 { events.interrupt() }
            }
            #expect(result.totals.violations.count == 0 && result.errors.isEmpty)
            let connections = result.intervals.map(\.gauges.connections)
            #expect(result.end == .interrupted, "only one user is left: \(connections)")
            #expect(connections.allSatisfy { $0 <= 15 }, "\(connections)")
            if connections.prefix(while: { $0 < 15 }).contains(8), connections.contains(15) { break }
            #expect(seconds < 60, "\(connections)")
        }
        await lab.server.terminate()
    }

    @Test("a server that is killed and restarted causes errors with their reasons, and no false alarm")
    func restart() async throws {
        let lab = try await LoadLab.start(wallets: 8)
        let events = RunEvents()
        let again = Mutex<ServerProcess?>(nil)
        let isBack = Mutex(0)
        let plan = try LoadLab.plan("1m:=8") { $0.mix = try Mix(parsing: "right=60,wrong=40") }
        let companion: @Sendable (RunEvents) async -> Void = { events in
            await lab.server.kill()
            events.serverEnded()
            events.mark("killed")
            guard let server = try? await lab.restart() else { return }
            again.withLock { $0 = server }
            events.mark("restarted")
            events.serverStarted(pid: server.processID)
        }
        let result = try await lab.run(plan, events: events, companions: [companion]) { moment in
            guard again.withLock({ $0 != nil }), moment.interval.totals.answered > 0 else { return }
            let seconds = isBack.withLock { seconds in
                seconds += 1
                return seconds
            }
            if seconds == 3 { events.interrupt() }
        }
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        #expect(result.count(.failed("closed")) > 0 || result.count(.failed("connect:refused")) > 0, "\(result.errors)")
        #expect(result.markers.map(\.text) == ["killed", "restarted"])
        // An interval with a new process has no CPU time of the server.
        let restarted = try #require(result.markers.last).at
        let interval = try #require(result.intervals.first { $0.start <= restarted && restarted < $0.end })
        #expect(interval.gauges.serverCPUSeconds == nil)
        let known = result.intervals.compactMap { interval in
            interval.gauges.serverCPUSeconds.map { ($0, interval.totals.answered) }
        }
        #expect(
            // The calls in flight of eight connections may have used CPU time in the interval before.
            known.contains { $0.1 > 0 } && known.allSatisfy { $0.1 <= 16 || $0.0 > 0.00001 * Double($0.1) },
            "\(known)"
        )
        #expect(isBack.withLock { $0 } >= 3)
        await again.withLock { $0 }?.terminate()
    }

    @Test("a run needs a wallet for each connection, and a server that responds")
    func impossible() async throws {
        let lab = try await LoadLab.start(wallets: 2)
        let tooMany = await #expect(throws: RunError.self) { try await lab.run(try LoadLab.plan("1s:=3")) }
        #expect(tooMany?.description.contains("2 wallets are too few for the connections") == true)
        await lab.server.terminate()
        let gone = await #expect(throws: RunError.self) { try await lab.run(try LoadLab.plan("1s:=1")) }
        #expect(gone?.description.contains("nothing listens there") == true, "\(gone?.description ?? "")")
    }
}
