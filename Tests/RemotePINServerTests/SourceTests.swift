import Secrets
import Testing
import Transport
import Vocabulary
import Wire

@testable import RemotePINServer

private let start = Timestamp(milliseconds: 1_000_000)

private func source(_ address: String) throws -> PeerSource {
    try #require(PeerSource(address: address))
}

@Suite("The limit of deletion codes per source")
struct SourceLimiterTests {
    @Test("a source waits once its tries are used up, and no other source does")
    func limited() throws {
        let limiter = SourceLimiter(burst: 2, refill: .seconds(1))
        let (a, b) = (try source("192.0.2.1"), try source("192.0.2.2"))
        #expect(limiter.take(from: a, at: start) == nil)
        #expect(limiter.take(from: a, at: start) == nil)
        #expect(limiter.take(from: a, at: start) == .seconds(1))
        #expect(limiter.take(from: b, at: start) == nil)
        #expect(limiter.take(from: a, at: start + .seconds(1)) == nil)
        #expect(limiter.take(from: a, at: start + .seconds(1)) == .seconds(1))
    }

    @Test("whoever has an IPv6 network does not try again from each of its addresses")
    func network() throws {
        let limiter = SourceLimiter(burst: 1, refill: .seconds(1))
        #expect(limiter.take(from: try source("2001:db8:1:2::1"), at: start) == nil)
        #expect(limiter.take(from: try source("2001:db8:1:2:ffff::9"), at: start) == .seconds(1))
        #expect(limiter.take(from: try source("2001:db8:1:3::1"), at: start) == nil)
    }

    @Test("a clock set back limits nobody for longer")
    func clockSetBack() throws {
        let limiter = SourceLimiter(burst: 1, refill: .seconds(1))
        let a = try source("192.0.2.1")
        #expect(limiter.take(from: a, at: start + .seconds(1000)) == nil)
        #expect(limiter.take(from: a, at: start) == .seconds(1))
    }

    @Test("memory is bounded, and who is forgotten may only do more")
    func bounded() throws {
        let limiter = SourceLimiter(burst: 1, capacity: 100)
        for number in 0..<10_000 {
            #expect(limiter.take(from: try source("10.0.\(number / 250).\(number % 250)"), at: start) == nil)
        }
    }
}

@Suite("Which calls keep a connection")
struct UsefulCallsTests {
    private let enrollment: CallResult

    init() throws {
        let id = try #require(WalletID([UInt8](repeating: 1, count: 16)))
        self.enrollment = .beginEnrollment(Enrollment(token: [1], walletID: id, expiresAt: start))
    }

    @Test("no refusal and no code that nobody has")
    func useless() {
        var use = UsefulCalls()
        #expect(use.counts(.unknown, .refused(Refusal(.unsupported))) == false)
        #expect(use.counts(.reportWipe, .refused(Refusal(.sessionRequired))) == false)
        #expect(use.counts(.revokeWithCode("x"), .revokeWithCode(.notRecognised)) == false)
        #expect(use.counts(.reportWipe, .reportWipe) == true)
        #expect(use.counts(.revokeWithCode("x"), .revokeWithCode(.revoked(at: start))) == true)
    }

    @Test("an enrollment counts once, and again after a registration")
    func enrollments() {
        var use = UsefulCalls()
        #expect(use.counts(.beginEnrollment, self.enrollment) == true)
        #expect(use.counts(.beginEnrollment, self.enrollment) == false)
        #expect(use.counts(.beginEnrollment, self.enrollment) == false)
        let registration = CallResult.register(Registration(unlockShare: .random(), deletionCode: nil))
        #expect(use.counts(.reportWipe, registration) == true)
        #expect(use.counts(.beginEnrollment, self.enrollment) == true)
    }
}
