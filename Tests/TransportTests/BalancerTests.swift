import Testing
import Vocabulary
import Wire

@testable import Transport

/// The sources and peers of the served connections, in order.
private final class Served: Sendable {
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init() {
        (self.stream, self.continuation) = AsyncStream.makeStream()
    }

    /// Serves a connection until it ends.
    func serve(_ connection: ServerConnection) async {
        self.continuation.yield("\(connection.source) \(connection.peer)")
        await echo(connection)
    }

    func next() async -> String? {
        for await name in self.stream { return name }
        return nil
    }
}

private func header(from last: UInt8, port: UInt8 = 1) -> [UInt8] {
    ProxyHeaderBytes.header(0x11, [192, 0, 2, last, 198, 51, 100, 1, 0, port, 1, 0xBB])
}

@Suite("Behind a load balancer")
struct BalancerTests {
    private let certificates: TestCertificates

    init() throws {
        self.certificates = try TestCertificates()
    }

    private func behindBalancer(
        limits: TransportLimits = TransportLimits(),
        failures: Failures = Failures(),
        served: Served = Served(),
        _ body: @escaping @Sendable (_ port: Int, _ tls: TLSClientContext) async throws -> Void
    ) async throws {
        let context = try self.certificates.clientContext()
        try await withServer(
            self.certificates,
            limits: limits,
            failures: failures,
            isBalancer: { $0 == "127.0.0.1" },
            serve: { await served.serve($0) }
        ) { port, _, _ in try await body(port, context) }
    }

    @Test("a connection has the source that the header names, and TLS and calls reach the server")
    func named() async throws {
        let served = Served()
        try await self.behindBalancer(served: served) { port, tls in
            for prefix in [
                header(from: 7, port: 80),
                ProxyHeaderBytes.header(0x21, ProxyHeaderBytes.ipv6 + ProxyHeaderBytes.extras),
            ] {
                let peer = try await RawPeer.connect(port, prefix: prefix, tls: tls)
                try await peer.send(Request(id: 1, call: .reportWipe))
                try await peer.send([0, 0, 0, 0])
                #expect(try await peer.ended().map(\.id) == [1, 0])
            }
            #expect(await served.next() == "192.0.2.7 192.0.2.7:80")
            #expect(await served.next() == "2001:db8:1:2::/64 [2001:db8:1:2::9]:8080")
        }
    }

    @Test("if the header names no address, the source is the load balancer")
    func unnamed() async throws {
        let served = Served()
        try await self.behindBalancer(served: served) { port, tls in
            for prefix in [
                ProxyHeaderBytes.header(0x00, []), ProxyHeaderBytes.header(0x20, 0x11, ProxyHeaderBytes.ipv4),
            ] {
                let peer = try await RawPeer.connect(port, prefix: prefix, tls: tls)
                #expect(try #require(await served.next()).hasPrefix("127.0.0.1 "))
                peer.close()
            }
        }
    }

    @Test("a load balancer that begins with TLS, with version 1 or with no bytes is disconnected")
    func demanded() async throws {
        let failures = Failures()
        try await self.behindBalancer(failures: failures) { port, tls in
            await #expect(throws: (any Error).self) { try await RawPeer.connect(port, tls: tls) }
            #expect(await failures.next() == .proxyHeader(.notAHeader))
            let text = Array("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n".utf8)
            await #expect(throws: (any Error).self) { try await RawPeer.connect(port, prefix: text, tls: tls) }
            #expect(await failures.next() == .proxyHeader(.notAHeader))
        }
        var limits = TransportLimits()
        limits.handshake = .milliseconds(500)
        try await self.behindBalancer(limits: limits, failures: failures) { port, _ in
            let silent = try await RawPeer.connect(port, prefix: Array(header(from: 7).dropLast()))
            #expect(await failures.next() == .tls(.timedOut))
            #expect(try await silent.ended().isEmpty)
        }
    }

    @Test("a header from any other peer is not TLS and closes the connection")
    func refused() async throws {
        let (failures, served) = (Failures(), Served())
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, failures: failures, serve: { await served.serve($0) }) { port, _, _ in
            await #expect(throws: (any Error).self) {
                try await RawPeer.connect(port, prefix: header(from: 7), tls: context)
            }
            #expect(await failures.next() == .tls(.broken("not a TLS handshake")))
            let honest = try await connect(port, context)
            #expect(try #require(await served.next()).hasPrefix("127.0.0.1 "))
            honest.close()
        }
    }

    @Test("the per-source limit counts the source in the header, and a connection that ends allows another")
    func perSource() async throws {
        var limits = TransportLimits()
        limits.connectionsPerSource = 1
        let served = Served()
        try await self.behindBalancer(limits: limits, served: served) { port, tls in
            let first = try await RawPeer.connect(port, prefix: header(from: 1), tls: tls)
            let other = try await RawPeer.connect(port, prefix: header(from: 2), tls: tls)
            await #expect(throws: (any Error).self) {
                try await RawPeer.connect(port, prefix: header(from: 1), tls: tls)
            }
            first.close()
            _ = try await first.ended()
            var isBack = false
            for _ in 0..<1000 where !isBack {
                let again = try? await RawPeer.connect(port, prefix: header(from: 1), tls: tls)
                isBack = again != nil
                again?.close()
            }
            #expect(isBack)
            other.close()
        }
    }

    @Test("while silent connections exhaust the handshakes, new clients are admitted and open ones are served")
    func silentFlood() async throws {
        var limits = TransportLimits()
        limits.handshakes = 10
        // Longer than any pause of the machine, so that the connections are displaced and do not time out.
        limits.handshake = .seconds(300)
        let failures = Failures()
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, limits: limits, failures: failures) { port, _, _ in
            let open = try await connect(port, context)
            var silent: [RawPeer] = []
            for _ in 0..<30 { silent.append(try await RawPeer.connect(port)) }
            for _ in 0..<20 { #expect(await failures.next() == .displaced) }
            let newcomer = try await connect(port, context)
            #expect(try await token(newcomer) == newcomer.channelBinding.bytes)
            #expect(try await token(open) == open.channelBinding.bytes)
            for peer in silent { peer.close() }
        }
    }

    @Test("a stop closes connections that have not sent a byte")
    func stop() async throws {
        let tls = try self.certificates.serverContext()
        let accepted = AsyncStream<Void>.makeStream()
        var observer = ListenerObserver()
        observer.event = { if case .handshakes(inProgress: 1) = $0 { accepted.continuation.yield() } }
        let listener = try await RPCListener.bind(host: "127.0.0.1", port: 0, tls: tls, observer: observer)
        async let serving: Void = listener.serve(echo)
        let silent = try await RawPeer.connect(listener.port)
        for await _ in accepted.stream { break }
        listener.stop()
        #expect(try await silent.ended().isEmpty)
        await serving
    }
}
