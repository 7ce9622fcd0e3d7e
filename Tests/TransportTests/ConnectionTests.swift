import Foundation
import Lab
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing
import Vocabulary
import Wire

@testable import Transport

@Suite("Connections between client and server")
struct ConnectionTests {
    private let certificates: TestCertificates

    init() throws {
        self.certificates = try TestCertificates()
    }

    @Test("both ends export the same channel binding, different for each connection, also if resumed")
    func channelBinding() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, _, _ in
            var bindings: Set<ChannelBinding> = []
            for index in 0..<4 {
                let connection = try await connect(port, context)
                #expect(try await token(connection) == connection.channelBinding.bytes)
                #expect(connection.isResumed == (index > 0))
                bindings.insert(connection.channelBinding)
                connection.close()
                #expect(await happens { await connection.closed() })
            }
            #expect(bindings.count == 4)
        }
    }

    @Test("accepted sockets send without delay, which they inherit from the listening one")
    func noDelay() async throws {
        let context = try self.certificates.clientContext()
        let values = Mutex<[Int]>([])
        let serve: @Sendable (ServerConnection) async -> Void = { connection in
            let value = try? await connection.frames.channel.getOption(.tcpOption(.tcp_nodelay)).get()
            values.withLock { $0.append(Int(value ?? -1)) }
        }
        try await withServer(self.certificates, serve: serve) { port, _, _ in
            let connection = try await connect(port, context)
            #expect(await happens { await connection.closed() })
        }
        #expect(values.withLock(\.self) == [1])
    }

    @Test("each call in flight gets its own answer")
    func correlation() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, _, _ in
            let connection = try await connect(port, context)
            try await withThrowingTaskGroup(of: Void.self) { calls in
                for index in 0..<200 {
                    calls.addTask {
                        if index.isMultiple(of: 2) {
                            #expect(try await token(connection) == connection.channelBinding.bytes)
                        } else if case .refused(let refusal) = try await connection.call(
                            .reportWipe,
                            timeout: .seconds(20)
                        ) {
                            #expect(refusal.reason == .notAllowed)
                        } else {
                            Issue.record("the answer to another call")
                        }
                    }
                }
                try await calls.waitForAll()
            }
            connection.close()
        }
    }

    @Test("a server of another authority is rejected")
    func untrusted() async throws {
        let otherContext = try TestCertificates().clientContext()
        try await withServer(self.certificates) { port, _, _ in
            do throws(ConnectError) {
                _ = try await connect(port, otherContext)
                Issue.record("connected")
            } catch {
                guard case .tls(.untrusted) = error else { Issue.record("\(error)"); return }
            }
        }
    }

    @Test("a client that verifies each certificate once still rejects another authority's")
    func verifiedOnce() async throws {
        let trust = TLSTrust.authority(pem: Array(self.certificates.authority.tlsAuthorityPEM.utf8))
        let context = try TLSClientContext(trust: trust, serverName: "localhost", resumes: false, verifiesOnce: true)
        try await withServer(self.certificates) { port, tls, _ in
            for _ in 0..<2 { try await connect(port, context).close() }
            try self.certificates.replace()
            try tls.reload(at: TestCertificates.time)
            try await connect(port, context).close()
        }
        try await withServer(try TestCertificates()) { port, _, _ in
            do throws(ConnectError) {
                _ = try await connect(port, context)
                Issue.record("connected")
            } catch {
                guard case .tls(.untrusted) = error else { Issue.record("\(error)"); return }
            }
        }
    }

    @Test("a trusted certificate for another name is rejected", arguments: ["example.org", "127.0.0.2", "local"])
    func wrongName(name: String) async throws {
        let context = try self.certificates.clientContext(serverName: name)
        try await withServer(self.certificates) { port, _, _ in
            await #expect(throws: ConnectError.tls(.wrongName)) { try await connect(port, context) }
        }
    }

    @Test("the certificate may be for the address instead of the name")
    func address() async throws {
        let context = try self.certificates.clientContext(serverName: "127.0.0.1")
        try await withServer(self.certificates) { port, _, _ in
            let connection = try await connect(port, context)
            #expect(try await token(connection) == connection.channelBinding.bytes)
            connection.close()
        }
    }

    @Test("pinned keys admit their server under its name, and no other server")
    func pinnedKeys() async throws {
        let digest = try await self.certificates.publicKeyDigest()
        let other = try await TestCertificates().publicKeyDigest()
        let right = try TLSClientContext(trust: .publicKeys([other, digest]), serverName: "localhost")
        let wrong = try TLSClientContext(trust: .publicKeys([other]), serverName: "localhost")
        let wrongName = try TLSClientContext(trust: .publicKeys([digest]), serverName: "example.org")
        try await withServer(self.certificates) { port, _, _ in
            try await connect(port, right).close()
            await #expect(throws: ConnectError.tls(.untrusted("certificate not trusted"))) {
                try await connect(port, wrong)
            }
            await #expect(throws: ConnectError.tls(.wrongName)) { try await connect(port, wrongName) }
        }
    }

    @Test("a new certificate serves new connections, keeps old ones open and invalidates old tickets")
    func reload() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, tls, _ in
            let old = try await connect(port, context)
            _ = try await token(old)
            try self.certificates.replace()
            try tls.reload(at: TestCertificates.time)
            let new = try await connect(port, context)
            #expect(!new.isResumed)
            #expect(try await token(new) == new.channelBinding.bytes)
            #expect(try await token(old) == old.channelBinding.bytes)
            old.close()
            new.close()
        }
    }

    @Test("an unusable certificate leaves the current one in use")
    func badReload() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, tls, _ in
            _ = try self.certificates.folder.write(self.certificates.otherKey(), to: "server.key")
            #expect(throws: TLSContextError.keyOfAnotherCertificate(path: self.certificates.keyPath)) {
                try tls.reload(at: TestCertificates.time)
            }
            _ = try self.certificates.folder.write("nothing", to: "server.pem")
            #expect(throws: TLSContextError.self) { try tls.reload(at: TestCertificates.time) }
            try await connect(port, context).close()
        }
    }

    @Test("certificates that wallets reject do not replace working ones, and an imminent expiry is only reported")
    func faults() async throws {
        let tls = try self.certificates.serverContext()
        let (start, end) = (Timestamp(milliseconds: 1_577_836_800_000), Timestamp(milliseconds: 2_840_140_800_000))
        let shortly = end + .seconds(-86_400)
        #expect(tls.faults(at: TestCertificates.time).isEmpty)
        #expect(tls.faults(at: end) == [.expired(place: 1, since: end)])
        #expect(tls.faults(at: start + .seconds(-1)) == [.notYetValid(place: 1, until: start)])
        #expect(tls.faults(at: shortly) == [.expiresSoon(place: 1, at: end)])
        #expect(tls.faults(at: end + (.zero - CertificateFault.shortTime)).isEmpty)
        for (fault, time) in [
            (CertificateFault.expired(place: 1, since: end), end),
            (.notYetValid(place: 1, until: start), start + .seconds(-1)),
        ] {
            #expect(throws: TLSContextError.faults(path: self.certificates.certificatePath, [fault])) {
                try tls.reload(at: time)
            }
        }
        try tls.reload(at: shortly)
    }

    @Test("each certificate of the file must be issued by the next one, and not only bear its name")
    func chain() async throws {
        let (leaf, authority) = (self.certificates, self.certificates.authority.tlsAuthorityPEM)
        let own = try String(contentsOfFile: leaf.certificatePath, encoding: .utf8)
        _ = try leaf.folder.write(own + authority, to: "server.pem")
        #expect(try leaf.serverContext().faults(at: TestCertificates.time).isEmpty)
        // Another lab's authority has the same name and another key, also under the key identifier of this one.
        let other = LabAuthority().tlsAuthorityPEM
        for other in [other, try Self.certificate(authority, withKeyOf: other), own] {
            _ = try leaf.folder.write(own + other, to: "server.pem")
            let tls = try leaf.serverContext()
            #expect(tls.faults(at: TestCertificates.time).contains(.otherIssuer(place: 1)))
            #expect(throws: TLSContextError.self) { try tls.reload(at: TestCertificates.time) }
        }
    }

    /// Returns a certificate with the public key of another one.
    private static func certificate(_ pem: String, withKeyOf other: String) throws -> String {
        var (bytes, others) = (try Self.bytes(ofCertificate: pem), try Self.bytes(ofCertificate: other))
        // A bit string of 66 bytes with an uncompressed point (RFC 5480, 2.2).
        let header: [UInt8] = [0x03, 0x42, 0x00, 0x04]
        let (key, otherKey) = (try #require(bytes.firstRange(of: header)), try #require(others.firstRange(of: header)))
        others.removeSubrange(..<otherKey.upperBound)
        bytes.replaceSubrange(key.upperBound..<key.upperBound + 64, with: others.prefix(64))
        let text = Data(bytes).base64EncodedString(options: .lineLength64Characters)
        return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    }

    private static func bytes(ofCertificate pem: String) throws -> [UInt8] {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return [UInt8](try #require(Data(base64Encoded: lines.joined())))
    }

    @Test("the error for an unreadable file has the system's text, not libssl's number")
    func missingFiles() throws {
        let (chain, key) = (self.certificates.certificatePath, self.certificates.keyPath)
        let words = "No such file or directory"
        #expect(throws: TLSContextError.certificate(path: "/nowhere", reason: words)) {
            try TLSServerContext(certificateFile: "/nowhere", keyFile: key)
        }
        #expect(throws: TLSContextError.key(path: "/nowhere", reason: words)) {
            try TLSServerContext(certificateFile: chain, keyFile: "/nowhere")
        }
    }

    @Test("a closed port and an unknown name are different errors")
    func unreachable() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, _, _ in
            // The local port of a client: no process listens there, and no other process gets it.
            let peer = try await RawPeer.connect(port)
            let taken = try #require(peer.port)
            await #expect(throws: ConnectError.refused) { try await connect(taken, context) }
            peer.close()
        }
        // The label is too long for DNS, so that no resolver is queried.
        let name = String(repeating: "x", count: 64) + ".invalid"
        await #expect(throws: ConnectError.noRoute) {
            try await ClientConnection.connect(host: name, port: 1, tls: context, timeout: .seconds(20))
        }
    }

    @Test("a call without an answer times out, and the connection stays open")
    func callTimeout() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, serve: silentOnWipe) { port, _, _ in
            let connection = try await connect(port, context)
            await #expect(throws: CallError.timedOut) {
                try await connection.call(.reportWipe, timeout: .milliseconds(20))
            }
            #expect(try await token(connection) == connection.channelBinding.bytes)
            connection.close()
        }
    }

    @Test("a cancelled call ends, and calls in flight end with the connection")
    func endedCalls() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates, serve: silentOnWipe) { port, _, _ in
            let connection = try await connect(port, context)
            let waiting = Task { try await connection.call(.reportWipe, timeout: .seconds(60)) }
            waiting.cancel()
            await #expect(throws: CallError.cancelled) { try await waiting.value }
            let other = Task { try await connection.call(.reportWipe, timeout: .seconds(60)) }
            _ = try await token(connection)
            connection.close()
            await #expect(throws: CallError.closed) { try await other.value }
            await #expect(throws: CallError.closed) { try await connection.call(.reportWipe, timeout: .seconds(60)) }
        }
    }

    @Test("a connection's task runs on an event loop, so that a call needs no thread switch")
    func executor() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(
            self.certificates,
            serve: { connection in
                while case .request(let request) = await connection.next() {
                    #expect(MultiThreadedEventLoopGroup.currentEventLoop != nil)
                    await connection.send(answer(to: request, on: connection))
                }
            }
        ) { port, _, _ in
            let connection = try await connect(port, context)
            for _ in 0..<10 { _ = try await token(connection) }
            connection.close()
        }
    }

    @Test("a connection uses the requested local address; a foreign address fails")
    func source() async throws {
        let context = try self.certificates.clientContext()
        let peers = Mutex<[String]>([])
        try await withServer(
            self.certificates,
            serve: { connection in
                peers.withLock { $0.append(connection.peer) }
                await echo(connection)
            }
        ) { port, _, _ in
            for source in ["127.0.3.7", "127.0.3.8"] {
                let connection = try await ClientConnection.connect(
                    host: "127.0.0.1",
                    port: port,
                    tls: context,
                    timeout: TestWallet.patience,
                    from: source
                )
                _ = try await token(connection)
                connection.close()
            }
            await #expect(throws: ConnectError.noRoute) {
                try await ClientConnection.connect(
                    host: "127.0.0.1",
                    port: port,
                    tls: context,
                    timeout: TestWallet.patience,
                    from: "192.0.2.1"
                )
            }
        }
        let addresses = peers.withLock { $0.map { $0.prefix { $0 != ":" } } }
        #expect(addresses == ["127.0.3.7", "127.0.3.8"])
    }

    @Test("a task on an event loop connects on the same loop")
    func sameLoop() async throws {
        let context = try self.certificates.clientContext()
        let executors = EventLoopTaskExecutor.all
        try await withServer(self.certificates) { port, _, _ in
            // In both directions, because a connection on any other loop would take the loops in turn.
            for executor in executors + executors.reversed() {
                let connection = try await withTaskExecutorPreference(executor) { try await connect(port, context) }
                #expect(connection.executor as? EventLoopTaskExecutor === executor)
                connection.close()
            }
        }
    }

    @Test("a stop sends the pending answer, closes every connection and returns")
    func stop() async throws {
        let context = try self.certificates.clientContext()
        try await withServer(self.certificates) { port, _, listener in
            let first = try await connect(port, context)
            let second = try await connect(port, context)
            _ = try await token(first)
            listener.stop()
            #expect(await happens { await first.closed() })
            #expect(await happens { await second.closed() })
        }
    }
}

/// Answers as ``echo(_:)`` does, except that ReportWipe gets no answer.
@Sendable func silentOnWipe(_ connection: ServerConnection) async {
    while case .request(let request) = await connection.next() {
        if case .reportWipe = request.call { continue }
        guard await connection.send(answer(to: request, on: connection)) else { return }
    }
}
