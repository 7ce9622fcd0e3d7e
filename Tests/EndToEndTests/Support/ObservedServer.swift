import Foundation
import TestSupport

/// The metrics and health listener of a server.
struct ObservedServer {
    let port: Int

    /// Reads the port from the server's log.
    init(_ server: ServerProcess) throws {
        let match = server.output.firstMatch(of: /observed.*?address"?[=:]"?127\.0\.0\.1:(\d+)/)
        self.port = try Int(match.map { String($0.1) } ?? "").orThrow()
    }

    func get(_ path: String) async throws -> String {
        let client = try await RawClient(port: self.port)
        await client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await client.receive()
    }

    func metrics() async throws -> String {
        let answer = try await self.get("/metrics")
        return String(answer[(try answer.range(of: "\r\n\r\n").orThrow()).upperBound...])
    }

    /// The value of one series; nil if it does not exist.
    func value(_ series: String) async throws -> Double? {
        let lines = try await self.metrics().split(separator: "\n")
        return lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
    }
}
