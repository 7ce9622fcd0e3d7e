@testable import LoadEngine
import TestSupport
import Testing
import Transport
import Wire

@Suite("Parts of a run")
struct PartsTests {
    @Test(
        "each wallet is lent to one user at a time, and every free one can be had",
        arguments: ["uniform", "zipf:1.5"]
    )
    func pool(pick: String) throws {
        let pool = try WalletPool(try Pick(parsing: pick), among: 0..<100)
        var generator = PlanGenerator(seed: 5)
        let taken = (0..<100).compactMap { _ in pool.take(using: &generator) }
        #expect(Set(taken).count == 100)
        #expect(pool.take(using: &generator) == nil)
        pool.release(37)
        pool.release(37)
        #expect(pool.take(using: &generator) == 37)
        #expect(pool.take(using: &generator) == nil)
        for index in [3, 70] { pool.release(index) }
        #expect(pool.take(70, using: &generator) == 70)
        #expect(pool.take(70, using: &generator) == 3)
        #expect(pool.usedCount == 100)
    }

    @Test("a single wallet under attack is lent to all users")
    func sharedPool() throws {
        let pool = try WalletPool(.single(index: 3), among: 0..<5)
        var generator = PlanGenerator(seed: 5)
        #expect((0..<10).allSatisfy { _ in pool.take(using: &generator) == 3 })
    }

    @Test(
        "every failure has a name that a threshold can use",
        arguments: [
            .connect(.noRoute), .connect(.refused), .connect(.timedOut), .connect(.tls(.untrusted("words"))),
            .connect(.tls(.wrongName)), .connect(.tls(.noCommonProtocol)), .connect(.tls(.refusedByPeer(alert: 40))),
            .connect(.tls(.endedEarly)), .connect(.tls(.timedOut)), .connect(.tls(.broken("words"))),
            .call(.closed), .call(.timedOut), .call(.malformed), .refused(.malformed), .refused(.unsupported),
            .refused(.sessionRequired), .refused(.authenticationFailed), .refused(.outOfOrder),
            .refused(.challengeInvalid),
            .refused(.attestationRejected("check")), .refused(.notAllowed), .refused(.rateLimited(retryAfter: .zero)),
            .refused(.unavailable(retryAfter: .zero)), .refused(.internal), .falseShare, .strangePINKey,
            .unexpectedAnswer,
        ] as [FleetFailure]
    )
    func reasons(failure: FleetFailure) throws {
        #expect(Outcome.failureReasons.contains(failure.reason))
        _ = try Threshold(parsing: "failed:\(failure.reason)==0")
    }

    private static func queue(_ stages: String, maxInFlight: Int) throws -> ArrivalQueue {
        ArrivalQueue(Arrivals(.constant, Schedule(try Stages(parsing: stages)), seed: 1), maxInFlight: maxInFlight)
    }

    @Test("checks that are due wait in order and keep their due times")
    func waiting() throws {
        let queue = try Self.queue("1s:=10/s", maxInFlight: 100)
        let first = try #require(queue.take(at: .zero))
        #expect(first == ArrivalQueue.Arrival(due: .zero, isAdmitted: true))
        // No connection asked for half a second.
        let late = (0..<5).compactMap { _ in queue.take(at: .milliseconds(510)) }
        #expect(late.count == 5 && late.allSatisfy { $0.isAdmitted })
        #expect(late.map { ($0.due / .milliseconds(1)).rounded() } == [100, 200, 300, 400, 500])
        let early = try #require(queue.take(at: .milliseconds(510)))
        #expect(!early.isAdmitted && (early.due / .milliseconds(1)).rounded() == 600)
        #expect(queue.inFlight == 6)
        #expect(queue.admit(early))
        for _ in 0..<7 { queue.finish() }
        #expect(queue.inFlight == 0)
        var rest = 0
        while queue.take(at: .seconds(1)) != nil { rest += 1 }
        #expect(rest == 3)
    }

    @Test("a check that becomes due beyond the limit in flight is counted as unsent, once")
    func unsent() throws {
        let queue = try Self.queue("1s:=100/s", maxInFlight: 10)
        #expect(queue.advance(to: .milliseconds(505)) == 41)
        #expect(queue.advance(to: .milliseconds(505)) == 0)
        #expect(queue.inFlight == 10 && queue.waiting == 10)
        for _ in 0..<10 { #expect(queue.take(at: .milliseconds(505))?.isAdmitted == true) }
        // All ten are in flight: the next one is rejected at its time.
        let next = try #require(queue.take(at: .milliseconds(505)))
        #expect(!queue.admit(next))
        #expect(queue.advance(to: .milliseconds(505)) == 1)
        queue.finish()
        let admitted = try #require(queue.take(at: .milliseconds(515)))
        #expect(queue.admit(admitted))
    }

    @Test("a queue is not idle while a connection waits for an arrival's time, even if it wakes late")
    func ahead() throws {
        let queue = try Self.queue("1s:=10/s", maxInFlight: 100)
        #expect(!queue.isIdle(at: .zero), "the first check is due before any connection asks for it")
        for _ in 0..<9 {
            #expect(queue.take(at: .milliseconds(805))?.isAdmitted == true)
            queue.finish()
        }
        let last = try #require(queue.take(at: .milliseconds(805)))
        #expect(queue.inFlight == 0 && !queue.isIdle(at: .milliseconds(805)))
        #expect(queue.admit(last) && !queue.isIdle(at: .milliseconds(805)))
        queue.finish()
        #expect(queue.isIdle(at: .seconds(1)))
        #expect(queue.take(at: .seconds(1)) == nil)
    }

    @Test("checks still waiting when a run is ended are unsent")
    func abandoned() throws {
        let queue = try Self.queue("1s:=100/s", maxInFlight: 1000)
        _ = queue.advance(to: .milliseconds(505))
        _ = queue.take(at: .milliseconds(505))
        #expect(queue.abandon(at: .milliseconds(505)) == 50)
        #expect(queue.abandon(at: .milliseconds(505)) == 0)
        #expect(queue.take(at: .milliseconds(505)) == nil)
        #expect(queue.inFlight == 1)
        // Due and not admitted yet.
        #expect(try Self.queue("1s:=100/s", maxInFlight: 1000).abandon(at: .milliseconds(505)) == 51)
    }

    @Test("an arrival released at the end of a run is unsent if it was due, and not counted otherwise")
    func released() throws {
        let queue = try Self.queue("1s:=10/s", maxInFlight: 100)
        let waited = try #require(queue.take(at: .milliseconds(105)))
        #expect(queue.take(at: .milliseconds(105))?.isAdmitted == true)
        queue.finish()
        let (late, early) = (queue.take(at: .milliseconds(105)), queue.take(at: .milliseconds(105)))
        for turn in [waited, try #require(late), try #require(early)] { queue.release(turn, at: .milliseconds(205)) }
        #expect(queue.abandon(at: .milliseconds(205)) == 2)
        #expect(queue.isIdle(at: .milliseconds(205)))
    }

    @Test("every arrival is either taken or unsent, for any order of events", arguments: 0..<50 as Range<UInt64>)
    func conservation(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...20, using: &random)
        let queue = try Self.queue("1s:=300/s", maxInFlight: limit)
        var (sent, unsent, open) = (0, 0, 0)
        var now = Duration.zero
        while now < .seconds(2) {
            now += .milliseconds(Int.random(in: 0...10, using: &random))
            if Bool.random(using: &random), open < limit, let turn = queue.take(at: now) {
                now = max(now, turn.due)
                if queue.admit(turn) { (sent, open) = (sent + 1, open + 1) }
            }
            if Bool.random(using: &random), open > 0 {
                queue.finish()
                open -= 1
            }
            unsent += queue.advance(to: now)
            #expect(queue.inFlight <= limit, "seed \(seed)")
        }
        unsent += queue.abandon(at: now)
        #expect(sent + unsent == 300, "seed \(seed)")
    }

    @Test("a back-off grows to its limit with jitter, and starts again after a success")
    func backoff() {
        var generator = PlanGenerator(seed: 5)
        var backoff = Backoff()
        let pauses = (0..<12).map { _ in backoff.nextPause(using: &generator) }
        #expect(pauses.allSatisfy { $0 <= Backoff.longest && $0 >= Backoff.first / 2 })
        #expect(pauses[11] > Backoff.longest / 2 && pauses[0] <= Backoff.first)
        #expect(Set(pauses).count == 12)
        backoff.reset()
        #expect(backoff.nextPause(using: &generator) <= Backoff.first)
    }

    @Test("more connections than one address allows come from several, on this machine only")
    func addresses() {
        #expect(ConnectionLimits.sourceAddresses(for: 2000, host: "127.0.0.1").isEmpty)
        #expect(ConnectionLimits.sourceAddresses(for: 2001, host: "127.0.0.1") == ["127.0.1.1", "127.0.1.2"])
        let many = ConnectionLimits.sourceAddresses(for: 1_000_000, host: "127.0.0.1")
        #expect(many.count == 500 && Set(many).count == 500 && many.last == "127.0.2.250")
        #expect(ConnectionLimits.sourceAddresses(for: 10_000, host: "10.0.0.1").isEmpty)
    }

    @Test("a port's listening socket is found in the system's table, and no other")
    func sockets() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:1D13 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100
               1: 0100007F:1D13 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100
               2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100
            """
        #expect(ListeningProcess.inodes(listeningOn: 7443, in: table) == ["4711"])
        #expect(ListeningProcess.inodes(listeningOn: 80, in: table) == ["4713"])
        #expect(ListeningProcess.inodes(listeningOn: 81, in: table).isEmpty)
    }

    @Test("a running process has CPU time and memory, and an absent one has no reading")
    func meter() throws {
        var meter = ProcessMeter(pid: nil)
        let first = meter.read()
        let before = try #require(first)
        var sum: UInt64 = 0
        for number in 0..<2_000_000 as Range<UInt64> { sum = sum &* 31 &+ number }
        let second = meter.read()
        let after = try #require(second)
        #expect(after.cpu > before.cpu && sum != 0)
        #expect(after.residentBytes > 1 << 20)
        var nobody = ProcessMeter(pid: 99_999_999)
        let nothing = nobody.read()
        #expect(nothing == nil)
        #expect(ProcessMeter.bytes("VmRSS", in: "VmHWM:\t  20 kB\nVmRSS:\t  12 kB\n") == 12_288)
    }
}
