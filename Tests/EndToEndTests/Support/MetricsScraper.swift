import Dispatch
import Foundation
import HostSystem
import Synchronization
import TestSupport

/// The metrics of all servers of a run, scraped repeatedly while they ran.
final class MetricsScraper: Sendable {
    private let logs: String
    private let found = Mutex<[String]>([])

    /// - Parameter logs: the folder with the servers' logs, which contain the addresses of their listeners.
    init(logs: String) {
        self.logs = logs
    }

    var texts: [String] { self.found.withLock { $0 } }

    /// MetricsScraper every quarter of a second until `body` has ended, as Prometheus does at its interval.
    func during<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let (turns, source) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(250))
        timer.setEventHandler { source.yield() }
        timer.activate()
        let scraping = Task { for await _ in turns { await self.scrapeAll() } }
        defer {
            timer.cancel()
            scraping.cancel()
        }
        return try await body()
    }

    /// MetricsScraper the server of each log once; a stopped server refuses the connection at once.
    private func scrapeAll() async {
        for name in (try? DurableFile.names(in: self.logs)) ?? [] {
            guard let bytes = try? DurableFile.read("\(self.logs)/\(name)", atMost: 1 << 26) else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.hasSuffix("\"message\":\"stopped\"}\n"),
                let match = text.matches(of: /"message":"observed","address":"127\.0\.0\.1:(\d+)"/).last,
                let port = Int(match.1), let client = try? await RawClient(port: port)
            else { continue }
            await client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = await client.receive()
            if answer.contains("remote_pin_build_info") { self.found.withLock { $0.append(answer) } }
        }
    }
}
