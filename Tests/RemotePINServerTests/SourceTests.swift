import Secrets
import Testing
import Transport
import Vocabulary
import Wire

@testable import RemotePINServer

private let start = Timestamp(milliseconds: 1_795_000_000_000)

private func source(_ address: String) throws -> PeerSource {
    try #require(PeerSource(address: address))
}

@Suite("The allowance of one source")
struct BucketTests {
    private let two = Allowance(burst: 2, oneMoreEach: .seconds(1))

    @Test("a used-up allowance restores one use after each interval")
    func limited() {
        let bucket = Bucket()
        #expect(bucket.take(self.two, at: start) == nil)
        #expect(bucket.take(self.two, at: start) == nil)
        #expect(bucket.take(self.two, at: start) == .seconds(1))
        #expect(bucket.take(self.two, at: start + .milliseconds(400)) == .milliseconds(600))
        #expect(bucket.take(self.two, at: start + .seconds(1)) == nil)
        #expect(bucket.take(self.two, at: start + .seconds(1)) == .seconds(1))
    }

    @Test("a long pause restores one whole burst and no more")
    func longPause() {
        let bucket = Bucket()
        for _ in 0..<3 { _ = bucket.take(self.two, at: start) }
        let later = start + .seconds(1_000_000)
        #expect((0..<4).map { _ in bucket.take(self.two, at: later) == nil } == [true, true, false, false])
    }

    @Test("a clock that was set back limits a source no longer than a used-up allowance does")
    func clockSetBack() {
        let bucket = Bucket()
        #expect(bucket.take(self.two, at: start + .seconds(1_000_000)) == nil)
        #expect(bucket.take(self.two, at: start) == .seconds(1))
        #expect(bucket.take(self.two, at: start + .seconds(1)) == nil || bucket.debt(self.two, at: start) <= 2_000_000)
    }

    @Test(
        "at the ends of the time range it neither overflows nor allows everything",
        arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max]
    )
    func ends(milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds)
        for allowance in [
            self.two, Allowance(burst: .max, oneMoreEach: .seconds(1000)),
            Allowance(burst: 1, oneMoreEach: .microseconds(1)),
        ] {
            let bucket = Bucket()
            _ = bucket.take(allowance, at: time)
            _ = bucket.take(allowance, at: start)
            #expect(bucket.debt(allowance, at: start) >= 0)
        }
        let bucket = Bucket()
        #expect((0..<10).filter { _ in bucket.take(self.two, at: time) == nil }.count == 2)
    }

    @Test("without an allowance nothing is limited; 0 means no limit")
    func unlimited() {
        #expect(Allowance(0, each: .seconds(1), burst: 7) == nil)
        let bucket = Bucket()
        #expect((0..<10_000).allSatisfy { _ in bucket.take(nil, at: start) == nil })
    }

    @Test("concurrent uses get no more in total than consecutive ones")
    func parallel() async {
        let account = SourceAccount(PeerSource(address: "192.0.2.1").unsafelyKnown)
        let allowance = Allowance(burst: 500, oneMoreEach: .seconds(1))
        let given = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<1_000).filter { _ in account.calls.take(allowance, at: start) == nil }.count }
            }
            return await group.reduce(0, +)
        }
        #expect(given == 500)
    }
}

extension PeerSource? {
    /// Parses a valid source.
    fileprivate var unsafelyKnown: PeerSource {
        guard let self else { preconditionFailure("an address of the test's own") }
        return self
    }
}

@Suite("The accounts of all sources")
struct SourceTableTests {
    private let limits = SourceLimits(
        calls: Allowance(burst: 10, oneMoreEach: .seconds(1)),
        enrollments: nil,
        pause: .zero,
        remembered: 100
    )

    /// Takes calls over a connection that is then closed; returns the number of allowed ones.
    private func useUp(_ table: SourceTable, _ source: PeerSource, _ count: Int = 10, at now: Timestamp) -> Int {
        let account = table.connect(source)
        defer { table.disconnect(source, at: now) }
        return (0..<count).filter { _ in account.calls.take(self.limits.calls, at: now) == nil }.count
    }

    @Test("a new connection does not restore the allowance, and an IPv6 network has one account")
    func reconnecting() throws {
        let table = SourceTable(self.limits)
        #expect(self.useUp(table, try source("192.0.2.1"), at: start) == 10)
        #expect(self.useUp(table, try source("192.0.2.1"), at: start) == 0)
        #expect(self.useUp(table, try source("192.0.2.2"), at: start) == 10)
        #expect(self.useUp(table, try source("2001:db8:1:2::1"), at: start) == 10)
        #expect(self.useUp(table, try source("2001:db8:1:2:ffff::9"), at: start) == 0)
        #expect(self.useUp(table, try source("2001:db8:1:3::1"), at: start) == 10)
    }

    @Test("many other sources with little use do not evict a source with debt")
    func eviction() throws {
        let table = SourceTable(self.limits)
        let attacker = try source("192.0.2.1")
        #expect(self.useUp(table, attacker, at: start) == 10)
        for number in 0..<20_000 {
            let other = try source("10.\(number / 62_500).\(number / 250 % 250).\(number % 250)")
            _ = self.useUp(table, other, 1, at: start)
        }
        #expect(table.count <= 100)
        #expect(self.useUp(table, attacker, at: start) == 0, "it has the largest debt, so it is evicted last")
    }

    @Test("a source with a connection is never forgotten")
    func connected() throws {
        let table = SourceTable(self.limits)
        let account = table.connect(try source("192.0.2.1"))
        for _ in 0..<10 { _ = account.calls.take(self.limits.calls, at: start) }
        for number in 0..<5_000 { _ = self.useUp(table, try source("10.1.\(number / 250).\(number % 250)"), at: start) }
        #expect(table.connect(try source("192.0.2.1")) === account)
        #expect(table.count <= 101)
    }

    @Test("memory is bounded, for the portal's sources too, and accounts without debt are evicted first")
    func bounded() throws {
        let table = SourceTable(self.limits)
        let debtor = try source("192.0.2.1")
        let codes = self.limits.codes
        for _ in 0..<codes.burst { #expect(table.account(of: debtor, at: start).codes.take(codes, at: start) == nil) }
        for number in 0..<10_000 {
            _ = table.account(of: try source("10.0.\(number / 250).\(number % 250)"), at: start)
        }
        #expect(table.count <= 100)
        #expect(table.account(of: debtor, at: start).codes.take(codes, at: start) != nil)
    }

    @Test("connections of one source that end in any order leave its account unchanged")
    func several() throws {
        let table = SourceTable(self.limits)
        let one = try source("192.0.2.1")
        let account = table.connect(one)
        #expect(table.connect(one) === account)
        table.disconnect(one, at: start)
        #expect(table.account(of: one, at: start) === account)
        table.disconnect(one, at: start)
        // A surplus disconnect has no effect.
        table.disconnect(try source("192.0.2.9"), at: start)
        #expect(table.connect(one) === account || table.count == 1)
    }
}

@Suite("Calls that restart the idle timeout")
struct IdleTimeoutPolicyTests {
    private let enrollment: CallResult

    init() throws {
        let id = try #require(WalletID([UInt8](repeating: 1, count: 16)))
        self.enrollment = .beginEnrollment(Enrollment(token: [1], walletID: id, expiresAt: start))
    }

    @Test("refusals and unknown codes do not restart it")
    func refusals() {
        var policy = IdleTimeoutPolicy()
        #expect(policy.isReset(by: .unknown, .refused(Refusal(.unsupported))) == false)
        #expect(policy.isReset(by: .reportWipe, .refused(Refusal(.sessionRequired))) == false)
        #expect(policy.isReset(by: .revokeWithCode("x"), .revokeWithCode(.notRecognised)) == false)
        #expect(policy.isReset(by: .reportWipe, .reportWipe) == true)
        #expect(policy.isReset(by: .revokeWithCode("x"), .revokeWithCode(.revoked(at: start))) == true)
    }

    @Test("beginning an enrollment restarts it once, and again after a registration")
    func enrollments() {
        var policy = IdleTimeoutPolicy()
        #expect(policy.isReset(by: .beginEnrollment, self.enrollment) == true)
        #expect(policy.isReset(by: .beginEnrollment, self.enrollment) == false)
        #expect(policy.isReset(by: .beginEnrollment, self.enrollment) == false)
        let registration = CallResult.register(Registration(unlockShare: .random(), deletionCode: nil))
        #expect(policy.isReset(by: .reportWipe, registration) == true)
        #expect(policy.isReset(by: .beginEnrollment, self.enrollment) == true)
    }
}
