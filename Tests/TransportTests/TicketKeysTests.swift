import Synchronization
import Testing

@testable import Transport

@Suite("Ticket keys")
struct TicketKeysTests {
    private let start = ContinuousClock.now

    @Test("a key encrypts tickets for an hour and is accepted for two")
    func rotation() {
        let keys = TicketKeys(at: self.start)
        let first = keys.current(at: self.start).name
        #expect(keys.current(at: self.start + .seconds(3599)).name == first)
        let second = keys.current(at: self.start + .seconds(3600)).name
        #expect(second != first)
        #expect(keys.key(named: first, at: self.start + .seconds(7199)) != nil)
        #expect(keys.key(named: second, at: self.start + .seconds(7199)) != nil)
        #expect(keys.key(named: first, at: self.start + .seconds(7200)) == nil)
        #expect(keys.key(named: second, at: self.start + .seconds(7200)) != nil)
        #expect(keys.key(named: second, at: self.start + .seconds(10_800)) == nil)
    }

    @Test("after hours without connections a server accepts no old key, and its keys still change on the hour")
    func pause() {
        let keys = TicketKeys(at: self.start)
        let first = keys.current(at: self.start).name
        #expect(keys.key(named: first, at: self.start + .seconds(9 * 3600 + 60)) == nil)
        let later = keys.current(at: self.start + .seconds(9 * 3600 + 60)).name
        #expect(keys.current(at: self.start + .seconds(10 * 3600)).name != later)
    }

    @Test("names of keys differ, and an unknown name has no key")
    func names() {
        let keys = TicketKeys(at: self.start)
        #expect(Set((0..<100).map { _ in TicketKey().name }).count == 100)
        #expect(keys.key(named: TicketKey().name, at: self.start) == nil)
        #expect(keys.key(named: [], at: self.start) == nil)
    }

    @Test("a ticket is accepted under the key before the current one, and a connection then gets another ticket")
    func resumption() async throws {
        let certificates = try TestCertificates()
        let context = try certificates.clientContext()
        try await withServer(certificates) { port, tls, _ in
            let first = try await connect(port, context)
            _ = try await token(first)
            first.close()
            #expect(!first.isResumed && context.ticketCount == 1)
            let keys = try #require(tls.current.withLock { $0 }.ticketKeys)
            for hours in [1, 2] {
                _ = keys.current(at: .now + .seconds(hours * 3600 + 60))
                let next = try await connect(port, context)
                _ = try await token(next)
                next.close()
                #expect(next.isResumed && context.ticketCount == 1)
            }
            _ = keys.current(at: .now + .seconds(9 * 3600))
            let last = try await connect(port, context)
            #expect(!last.isResumed)
            last.close()
        }
    }
}
