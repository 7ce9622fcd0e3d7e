import Foundation
import Glibc
import TestSupport
import Testing
import Transport
import Wire

@Suite("Limits of local sockets")
struct LocalSocketTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("socket") }

    @Test("connections beyond the limit are closed and reported; one that ends allows another")
    func room() async throws {
        var limits = TransportLimits.admin
        #expect(limits.connections == 64 && TransportLimits.portal.connections == 600)
        limits.connections = 2
        limits.keptForPrivileged = 0
        let (refusals, source) = AsyncStream<RefusedConnections>.makeStream()
        var observer = ListenerObserver()
        observer.refusal = { source.yield($0) }
        let listener = try await LocalListener.bind(path: self.path, limits: limits, observer: observer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.serveEchoes() }
            defer { listener.stop() }
            let first = try await self.opened()
            let second = try await self.opened()
            await #expect(throws: (any Error).self) { try await self.opened() }
            #expect(await refusals.first { _ in true }?.reason == .connections)
            first.close()
            #expect(await happens { await first.closed() })
            // The server's end may close a moment later.
            #expect(await eventually { (try? await self.opened()) != nil })
            second.close()
        }
    }

    /// A connection that the listener has accepted.
    private func opened() async throws -> LocalConnection {
        let connection = try await LocalConnection.connect(path: self.path)
        _ = try await connection.call(1)
        return connection
    }

    @Test("after an answer without a lookup, the server stops reading from the portal for a while")
    func backoff() async throws {
        var limits = TransportLimits.portal
        limits.portalBackoff = .seconds(600)
        let listener = try await LocalListener.bind(path: self.path, limits: limits)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.servePortal { $0.source == "::" ? .malformed : .notRecognised } }
            defer { group.cancelAll() }
            let connection = try await PortalConnection.connect(path: self.path, timeout: .seconds(20))
            for _ in 0..<3 {
                let answer = try await connection.revoke(code: "A", source: "::1", timeout: .seconds(20))
                #expect(answer == .notRecognised)
            }
            #expect(try await connection.revoke(code: "A", source: "::", timeout: .seconds(20)) == .malformed)
            await #expect(throws: CallError.timedOut) {
                try await connection.revoke(code: "A", source: "::1", timeout: .milliseconds(300))
            }
            let other = try await PortalConnection.connect(path: self.path, timeout: .seconds(20))
            #expect(try await other.revoke(code: "A", source: "::1", timeout: .seconds(20)) == .notRecognised)
        }
    }

    @Test("useless requests do not keep a connection open")
    func useless() async throws {
        var limits = TransportLimits.portal
        limits.portalBackoff = .zero
        limits.idleWithoutSession = .milliseconds(300)
        let listener = try await LocalListener.bind(path: self.path, limits: limits)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.servePortal { _ in .malformed } }
            defer { listener.stop() }
            let connection = try await PortalConnection.connect(path: self.path, timeout: .seconds(20))
            let ends = await happens {
                while (try? await connection.revoke(code: "A", source: "::1", timeout: .seconds(20))) != nil {}
            }
            #expect(ends)
        }
    }

    @Test("without free file descriptors, accept fails, is reported and retried with a back-off, and recovers")
    func withoutFiles() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let path = folder.file("socket")
            let (failures, source) = AsyncStream<String>.makeStream()
            var observer = ListenerObserver()
            observer.acceptFailure = { source.yield($0) }
            let listener = try await LocalListener.bind(path: path, limits: .admin, observer: observer)
            let serving = Task { await listener.serveEchoes() }
            let first = try await LocalConnection.connect(path: path)
            _ = try await first.call(1)

            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 200
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var files: [FileHandle] = []
            while let file = FileHandle(forReadingAtPath: "/dev/null") { files.append(file) }
            // The client's socket takes the last descriptor.
            try files.removeLast().close()
            let second = try await LocalConnection.connect(path: path)
            let isTold = await happens {
                let reason = await failures.first { _ in true }
                #expect(reason?.contains("Too many open files") == true, "\(reason ?? "")")
            }
            #expect(isTold)
            // Long enough for a listener without a back-off to fail hundreds of times.
            for _ in 0..<100 { _ = try await first.call(1) }
            for file in files { try file.close() }
            _ = try await second.call(1)
            source.finish()
            let more = await failures.reduce(into: 0) { count, _ in count += 1 }
            #expect(more <= 20, "at most once a second: \(more)")
            listener.stop()
            await serving.value
        }
    }
}
