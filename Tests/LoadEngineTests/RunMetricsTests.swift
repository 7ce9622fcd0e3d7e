import Glibc
import TestSupport
import Testing

@Suite("The metrics of a running load test")
struct RunMetricsTests {
    @Test("Prometheus finds verdicts, their latency and connections while the run goes on, and nothing after it")
    func scrape() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let run = try await ServerProcess.start(
            [
                "run", "--lab", lab.path, "--wallets", lab.walletsFile, "--connections", "2", "--duration", "10m",
                "--mix", "right=1", "--metrics", "127.0.0.1:0", "--json",
            ],
            of: "pin-load",
            until: "/metrics\n"
        )
        let port = try #require(
            run.output.split(whereSeparator: \.isNewline).compactMap { line in
                line.firstRange(of: "metrics at http://127.0.0.1:").flatMap {
                    Int(line[$0.upperBound...].prefix { $0.isNumber })
                }
            }.first
        )
        let valid = "pin_load_operations_total{operation=\"check\",outcome=\"valid\"}"
        let observed = ObservedServer(port: port)
        var page = try await observed.get("/metrics")
        #expect(page.hasPrefix("HTTP/1.1 200 "))
        // The end of the first interval has no other sign. The counters are not updated at one moment.
        try await poll {
            page = try await observed.get("/metrics")
            let count = try #require(ObservedServer.value(valid, in: page))
            return count != 0
                && ObservedServer.value("pin_load_latency_seconds_count{operation=\"check\"}", in: page) == count
        }
        #expect(
            ObservedServer.value("pin_load_operations_total{operation=\"check\",outcome=\"failed\"}", in: page) == 0
        )
        #expect(ObservedServer.value("pin_load_connections", in: page) == 2)
        #expect(ObservedServer.value("pin_load_target", in: page) == 2)
        #expect(ObservedServer.value("pin_load_violations_total", in: page) == 0)
        #expect(try #require(ObservedServer.value("process_cpu_seconds_total", in: page)) > 0)
        run.send(SIGINT)
        #expect(await run.ended() == 130)
        await #expect(throws: (any Error).self) { try await RawClient(port: port) }
        await lab.server.terminate()
    }

    @Test("an address in use is reported before the run begins")
    func addressInUse() async throws {
        let lab = try await LoadLab.start(wallets: 1)
        let address = try #require(lab.server.output.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
        let run = try await ServerProcess.run(
            "pin-load",
            [
                "run", "--lab", lab.path, "--wallets", lab.walletsFile, "--connections", "1", "--duration", "1s",
                "--metrics", "\(address)",
            ]
        )
        #expect(run.exitCode == 1)
        #expect(run.output.contains("--metrics: cannot listen on \(address): "), "\(run.output)")
        await lab.server.terminate()
    }
}
