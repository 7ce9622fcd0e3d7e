internal import CoreMetrics
internal import HostSystem
internal import Logging
internal import MetricsEndpoint
internal import NIOCore
internal import NIOPosix
internal import Telemetry
internal import Vocabulary

/// The requests to the daemon, with their limit and metrics.
final class KeyRequests: Sendable {
    let keys: TokenKeys
    let registry: MetricRegistry
    private let pool: NIOThreadPool
    private let allowance: Allowance?
    private let bucket = Bucket()
    private let clock = SystemClock()
    private let outcomes: [String: Counter]

    init(_ keys: TokenKeys, threads: Int, limit: Int, log: Logger) {
        self.keys = keys
        self.allowance = Allowance(limit, each: .seconds(1), burst: 10 * limit)
        let registry = MetricRegistry { name, fault in
            log.warning("a metric is not exposed", metadata: ["metric": "\(name)", "fault": "\(fault.rawValue)"])
        }
        registry.watchProcess()
        registry.probe("remote_pin_build_info", [("version", BuildID.version)]) { 1 }
        registry.probe("remote_pin_keys_limit") { Double(limit) }
        self.outcomes = ["ok", "unknown", "busy", "failed"].reduce(into: [:]) { counters, outcome in
            let labels = [("outcome", outcome)]
            counters[outcome] = Counter(label: "remote_pin_keys_total", dimensions: labels, factory: registry)
        }
        self.registry = registry
        self.pool = NIOThreadPool(numberOfThreads: threads)
        self.pool.start()
    }

    /// Answers one line of the protocol, `mac LABEL HEX`, on a thread that may wait for the module.
    func answer(_ line: String, _ promise: EventLoopPromise<String>) {
        @Sendable func end(_ answer: String) {
            self.outcomes[String(answer.prefix { $0 != " " })]?.increment()
            promise.succeed(answer + "\n")
        }
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, words[0] == "mac", let label = KeyLabel(argument: words[1]),
            let message = [UInt8](hex: words[2]), (1...128).contains(message.count)
        else { return end("failed request") }
        // Threat: an attacker who controls the server derives the keys of all wallets. Each request costs a use of the
        // limit, whether or not the token has the key.
        // rule: vault-daemon-without-limit
        if let wait = self.bucket.take(self.allowance, at: self.clock.now()) {
            // Rounded up, so that a client that waits as long is served.
            return end("busy \(wait.microseconds.dividedRoundingUp(by: 1000))")
        }
        self.pool.submit { state in
            guard case .active = state else { return end("failed module") }
            end(self.keys.answer(message, label))
        }
    }

    /// Answers the requests that wait, then ends the threads.
    func stop() async throws { try await self.pool.shutdownGracefully() }
}
