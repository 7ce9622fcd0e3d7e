internal import ArgumentParser
internal import Vocabulary
internal import Wire

/// How the server is.
struct AdminStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how the server is: what it serves, what it counted, what expires.",
        discussion: """
            Looks at every wallet, some hundreds at a time; with millions of them it takes some seconds and keeps no PIN \
            waiting. For a look every few seconds use the metrics: each command is in the audit log.

              remote-pin-server admin status --lab /tmp/lab
              remote-pin-server admin status --json --lab /tmp/lab | jq .wallets.blocked
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            guard case .status(let report) = try await self.server.call(.showStatus) else {
                throw StartFailure.unexpectedAnswer
            }
            self.output.print(StatusJSON(report)) { $0.draw(report) }
        }
    }
}

extension Page {
    fileprivate mutating func draw(_ report: StatusReport) {
        let wallets = WalletCondition.allCases.map { "\(report.wallets[$0]) \($0.spoken)" }.joined(separator: ", ")
        let pins = report.pins
        let keys = report.keyVersions.map { $0 == report.activeKeyVersion ? "\($0) (seals)" : "\($0)" }
        self.facts([
            ("version", report.version),
            ("up", "\(report.uptime.spoken), since \(report.startedAt.text)"),
            ("time", report.now.text),
            ("solution", report.isSolutionRevoked ? self.bad("revoked") : self.good("in service")),
            ("connections", "\(report.connections), \(report.sessions) with a session"),
            ("wallets", wallets),
            ("PINs", "\(pins.valid) valid, \(pins.wrong) wrong, \(pins.blocked) while blocked"),
            ("commits", self.commits(report.commits)),
            ("vault keys", keys.joined(separator: ", ") + (report.reseal.map { "; \($0.spoken)" } ?? "")),
            ("epoch", "\(report.epoch)"),
            ("certificate", self.certificate(report)),
            ("status list", self.statusList(report)),
            ("audit log", "\(report.auditNumber):\(report.auditMAC)"),
            ("log level", report.logLevel.rawValue),
        ])
    }

    private func commits(_ report: StatusReport.LatencyReport) -> String {
        guard report.count > 0 else { return "none" }
        return "\(report.count), half within \(report.median.fine), 99 of 100 within \(report.p99.fine)"
    }

    private func certificate(_ report: StatusReport) -> String {
        guard let expiry = report.certificateExpiresAt else { return "its end cannot be told" }
        guard expiry > report.now else { return self.bad("expired on \(expiry.text)") }
        return "expires in \((expiry - report.now).spoken), on \(expiry.text)"
    }

    private func statusList(_ report: StatusReport) -> String {
        guard let fetched = report.statusListFetchedAt else { return "none" }
        let age = fetched < report.now ? "\((report.now - fetched).spoken) old" : "new"
        return report.isStatusListStale ? self.bad(age + ", too old") : age
    }
}

extension WalletCondition {
    /// In a sentence.
    fileprivate var spoken: String { self.rawValue.map { $0 == "-" ? " " : String($0) }.joined() }
}

extension Duration {
    /// Milliseconds with two decimals.
    fileprivate var fine: String {
        let (seconds, attoseconds) = self.components
        let hundredths = seconds * 100_000 + attoseconds / 10_000_000_000_000
        let rest = "\(hundredths % 100)"
        return "\(hundredths / 100).\(rest.count < 2 ? "0" : "")\(rest) ms"
    }

    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

/// A status for programs; times in ISO 8601.
private struct StatusJSON: Encodable {
    let version: String
    let now: String
    let startedAt: String
    let uptimeMs: Int64
    let solutionRevoked: Bool
    let connections: Int
    let sessions: Int
    let wallets: [String: Int]
    let pins: [String: Int]
    let commits: Commits
    let vaultKeys: Keys
    /// Of the store; each restore opens one.
    let epoch: Int
    let certificateExpiresAt: String?
    let statusList: StatusList?
    let audit: Audit
    let logLevel: String

    struct Commits: Encodable {
        let count: Int
        let medianUs: Int64
        let p99Us: Int64
    }

    struct Keys: Encodable {
        let versions: [UInt32]
        let active: UInt32
    }

    struct StatusList: Encodable {
        let fetchedAt: String
        let ageMs: Int64
        let stale: Bool
    }

    struct Audit: Encodable {
        let number: UInt64
        let mac: String
    }

    init(_ report: StatusReport) {
        self.version = report.version
        self.now = report.now.text
        self.startedAt = report.startedAt.text
        self.uptimeMs = report.uptime.milliseconds
        self.solutionRevoked = report.isSolutionRevoked
        self.connections = report.connections
        self.sessions = report.sessions
        self.wallets = Dictionary(
            uniqueKeysWithValues: WalletCondition.allCases.map { ($0.rawValue, report.wallets[$0]) }
        )
        self.pins = ["valid": report.pins.valid, "wrong": report.pins.wrong, "blocked": report.pins.blocked]
        self.commits = Commits(
            count: report.commits.count,
            medianUs: report.commits.median.wholeMicroseconds,
            p99Us: report.commits.p99.wholeMicroseconds
        )
        self.vaultKeys = Keys(versions: report.keyVersions, active: report.activeKeyVersion)
        self.epoch = report.epoch
        self.certificateExpiresAt = report.certificateExpiresAt?.text
        self.statusList = report.statusListFetchedAt.map {
            StatusList(
                fetchedAt: $0.text,
                ageMs: (report.now - $0).milliseconds,
                stale: report.isStatusListStale
            )
        }
        self.audit = Audit(number: report.auditNumber, mac: report.auditMAC)
        self.logLevel = report.logLevel.rawValue
    }
}
