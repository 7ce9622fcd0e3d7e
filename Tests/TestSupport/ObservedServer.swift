/// The listener of a program for metrics and probes.
package struct ObservedServer {
    package let port: Int

    /// - Parameter port: The listener's port on this machine.
    package init(port: Int) {
        self.port = port
    }

    /// Reads the port from the server's log.
    package init(_ server: ServerProcess) throws {
        let match = server.output.firstMatch(of: /observed.*?address"?[=:]"?127\.0\.0\.1:(\d+)/)
        self.port = try Int(match.map { String($0.1) } ?? "").orThrow()
    }

    package func get(_ path: String) async throws -> String {
        let client = try await RawClient(port: self.port)
        await client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await client.receive()
    }

    package func metrics() async throws -> String {
        let answer = try await self.get("/metrics")
        return String(answer[(try answer.firstRange(of: "\r\n\r\n").orThrow()).upperBound...])
    }

    /// The value of one series; nil if it does not exist.
    package func value(_ series: String) async throws -> Double? { Self.value(series, in: try await self.metrics()) }

    /// The value of one series in an answer; nil if it does not exist.
    package static func value(_ series: String, in metrics: String) -> Double? {
        let lines = metrics.split(whereSeparator: \.isNewline)
        return lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
    }
}
