import NIOCore
import Testing

@testable import Transport

@Suite("Connection limits")
struct ConnectionLimiterTests {
    @Test("a source is an IPv4 address or an IPv6 network of 64 bits, in any spelling")
    func sources() throws {
        func source(_ address: String) throws -> PeerSource { try #require(PeerSource(address: address)) }
        #expect(try source("192.0.2.1") != source("192.0.2.2"))
        #expect(try source("192.0.2.1") == source("::ffff:192.0.2.1"))
        #expect(try source("2001:db8:1:2::1") == source("2001:db8:1:2:a:b:c:d"))
        #expect(try source("2001:db8:1:2::1") != source("2001:db8:1:3::1"))
        #expect(try source("2001:db8:1:2:a:b:c:d").description == "2001:db8:1:2::/64")
        #expect(try source("192.0.2.1").description == "192.0.2.1")
        #expect(PeerSource(address: "localhost") == nil)
        #expect(PeerSource(nil).description == "unknown")
        for address in ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8:1:2::1", "::1"] {
            #expect(PeerSource(try SocketAddress(ipAddress: address, port: 7)) == (try source(address)))
        }
    }

    @Test(
        "a network is an IPv4 network of 24 bits or an IPv6 network of 48 bits",
        arguments: [
            ("192.0.2.1", "192.0.2.254", true), ("192.0.2.1", "192.0.3.1", false),
            ("2001:db8:1:2::1", "2001:db8:1:ffff::1", true), ("2001:db8:1:2::1", "2001:db8:2:2::1", false),
        ]
    )
    func networks(one: String, other: String, isSame: Bool) throws {
        let sources = try [one, other].map { try #require(PeerSource(address: $0)) }
        #expect((sources[0].network == sources[1].network) == isSame)
    }

    @Test("a source has at most its limit of connections; one that ends allows another")
    func perSource() throws {
        var limits = TransportLimits()
        limits.connections = 5
        limits.connectionsPerSource = 2
        var limiter = ConnectionLimiter(limits: limits)
        let sources = try ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map { try #require(PeerSource(address: $0)) }
        for source in sources.prefix(2) {
            #expect(limiter.admit(source) == nil)
            #expect(limiter.admit(source) == nil)
            #expect(limiter.admit(source) == .connectionsPerSource)
        }
        #expect(limiter.admit(sources[2]) == nil)
        #expect(limiter.admit(sources[2]) == .connections)
        limiter.release(sources[0])
        #expect(limiter.admit(sources[0]) == nil)
        #expect(limiter.admit(sources[0]) == .connections)
    }

    @Test("each ordinary user has their own places, and all of them together leave some for root and the server's user")
    func users() {
        var limits = TransportLimits.admin
        #expect((limits.connections, limits.connectionsPerSource, limits.keptForPrivileged) == (64, 16, 16))
        limits.connections = 7
        limits.connectionsPerSource = 3
        limits.keptForPrivileged = 2
        var limiter = ConnectionLimiter(limits: limits)
        func user(_ number: UInt32) -> PeerSource { PeerSource(user: number, serverUser: 999) }
        let (one, two, root, server) = (user(1000), user(1001), user(0), user(999))
        #expect(one.description == "uid 1000" && one.address == nil && server.description == "uid 999")
        for _ in 0..<3 { #expect(limiter.admit(one) == nil) }
        #expect(limiter.admit(one) == .connectionsPerSource)
        for _ in 0..<2 { #expect(limiter.admit(two) == nil) }
        #expect(limiter.admit(two) == .connections)
        #expect(limiter.admit(root) == nil)
        #expect(limiter.admit(server) == nil)
        #expect(limiter.admit(root) == .connections)
        limiter.release(one)
        #expect(limiter.admit(two) == .connections)
        #expect(limiter.admit(server) == nil)
    }

    @Test("root and the server's user have no limit but the total", arguments: [0, 999])
    func privileged(number: UInt32) {
        var limiter = ConnectionLimiter(limits: .admin)
        let user = PeerSource(user: number, serverUser: 999)
        for _ in 0..<64 { #expect(limiter.admit(user) == nil) }
        #expect(limiter.admit(user) == .connections)
    }

    @Test("a lowered limit closes no connection of a source, and refuses new ones until the source is below it")
    func lowered() throws {
        var limits = TransportLimits()
        limits.connectionsPerSource = 3
        var limiter = ConnectionLimiter(limits: limits)
        let source = try #require(PeerSource(address: "192.0.2.1"))
        for _ in 1...3 { #expect(limiter.admit(source) == nil) }
        limiter.limit(perSource: 2)
        for _ in 1...2 {
            #expect(limiter.admit(source) == .connectionsPerSource)
            limiter.release(source)
        }
        #expect(limiter.admit(source) == nil)
        #expect(limiter.admit(source) == .connectionsPerSource)
        limiter.limit(perSource: 0)
        #expect(limiter.admit(source) == nil)
    }

    @Test("a connection that displaces another is admitted to a full table, within the limit of its source")
    func displacing() throws {
        var limits = TransportLimits()
        limits.connections = 8
        limits.connectionsPerSource = 7
        var limiter = ConnectionLimiter(limits: limits)
        let sources = try ["192.0.2.1", "192.0.2.2"].map { try #require(PeerSource(address: $0)) }
        for _ in 1...7 { #expect(limiter.admit(sources[0]) == nil) }
        #expect(!limiter.isFull)
        #expect(limiter.admit(sources[1]) == nil)
        #expect(limiter.isFull)
        #expect(limiter.admit(sources[1]) == .connections)
        #expect(limiter.admit(sources[1], displacing: true) == nil)
        #expect(!limiter.hasRoom(for: sources[0]) && limiter.hasRoom(for: sources[1]) && limiter.hasRoom(for: nil))
        #expect(limiter.admit(sources[0], displacing: true) == .connectionsPerSource)
    }

    @Test("a limit of 0 for each source means no limit")
    func unlimited() {
        var limits = TransportLimits()
        limits.connections = 5000
        limits.connectionsPerSource = 0
        var limiter = ConnectionLimiter(limits: limits)
        for _ in 0..<5000 { #expect(limiter.admit(PeerSource(nil)) == nil) }
    }

    @Test("refusals are reported at most once in ten seconds, with their number")
    func report() {
        var limiter = ConnectionLimiter(limits: TransportLimits())
        let (start, source) = (NIODeadline.now(), PeerSource(nil))
        func reported(_ seconds: Int64) -> Int? {
            limiter.refused(source, for: .connections, at: start + .seconds(seconds))?.count
        }
        #expect(reported(0) == 1)
        #expect((1..<10).allSatisfy { reported($0) == nil })
        #expect(reported(10) == 10)
        #expect(reported(11) == nil)
    }
}
