internal import ArgumentParser
internal import Foundation
internal import Vocabulary
internal import Wire

/// What is known of wallets.
struct AdminWallet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wallet",
        abstract: "Look at a wallet, or for wallets.",
        subcommands: [Show.self, List.self]
    )

    /// Shows one wallet.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show what is on file of a wallet: its state, what is counted, what was attested.",
            discussion: """
                Nothing secret is shown: no share, no key, no code. The wallet's id stands in the server's log beside \
                everything that concerns it. States are those of `wallet list`.

                  remote-pin-server admin wallet show 3f9c01… --lab /tmp/lab
                  remote-pin-server admin wallet show 3f9c01… --json --lab /tmp/lab | jq .pin.failures
                """
        )

        @Argument(help: ArgumentHelp("The wallet, 32 hexadecimal digits.", valueName: "wallet"))
        var wallet: String

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try walletID(self.wallet) }

        func run() async throws {
            let wallet = try walletID(self.wallet)
            try await ending {
                guard case .wallet(let report) = try await self.server.call(.showWallet(wallet)) else {
                    throw StartFailure.unexpectedAnswer
                }
                self.output.print(WalletJSON(report)) { $0.draw(report) }
            }
        }
    }
}

extension Page {
    fileprivate mutating func draw(_ report: WalletReport) {
        var facts: [(name: String, value: String)] = [
            ("wallet", "\(report.walletID)"), ("state", self.state(of: report)), ("PIN", self.pin(of: report)),
            ("wrong PINs", "\(report.pin.failures) since the last right one"),
            ("registered", report.registeredAt.text),
            (
                "last session",
                report.lastSession?.text ?? (report.sessionOpened ? "not recorded" : "none was ever opened")
            ),
            ("connections", "\(report.openConnections) now"),
            ("recovery code", report.isLinkedToRecoveryCode ? "linked to one" : "not linked"),
            ("deletion code", report.hasDeletionCode ? "was given one" : "has none"),
            ("safe biometrics", report.features.safeBiometricUnlock ? "on" : "off"),
            ("platform", report.app.platform.rawValue),
            ("app", report.app.id + (report.app.environment.isEmpty ? "" : " (\(report.app.environment))")),
        ]
        if let counter = report.assertionCounter { facts.append(("assertion counter", "\(counter)")) }
        for (name, value) in AttestedFacts(report.attested).sorted { facts.append(("attested \(name)", value)) }
        self.facts(facts)
    }

    private func state(of report: WalletReport) -> String {
        let solution = report.solutionRevoked ? self.bad("; the solution is revoked") : ""
        guard let revoked = report.revoked else {
            let word = report.condition.rawValue
            let isBlocked = report.condition == .blocked || report.condition == .blockedPermanently
            return (isBlocked ? self.bad(word) : report.condition == .open ? self.good(word) : word) + solution
        }
        let who =
            switch revoked.revocation.reason {
            case .user: "by its user"
            case .wallet: "by an operator (this wallet)"
            case .recoveryCode: "by an operator (through its recovery code)"
            case .solution: "by an operator (the whole solution)"
            }
        let again =
            revoked.revocation.mayRegisterAnew ? "its device may register anew" : "its device may not register anew"
        return self.bad("revoked \(who)") + " on \(revoked.at.text); \(again)" + solution
    }

    private func pin(of report: WalletReport) -> String {
        switch report.pin.state {
        case .open(let left, let isFinal):
            let attempts = left == 1 ? "1 attempt" : "\(left) attempts"
            return "\(attempts) left in round \(report.pin.round)" + (isFinal ? ", the final one" : "")
        case .blocked(let remaining):
            let until = report.pin.blockedUntil.map { ", until \($0.text)" } ?? ""
            return self.bad("blocked for \(remaining.spoken)") + "\(until); then round \(report.pin.round)"
        case .blockedPermanently: return self.bad("blocked for good")
        }
    }
}

extension WalletReport {
    /// The state as `wallet list` has it.
    fileprivate var condition: WalletCondition {
        WalletCondition(isRevoked: self.revoked != nil, sessionOpened: self.sessionOpened, pin: self.pin.state)
    }
}

/// What was attested, name by name.
private struct AttestedFacts: Encodable {
    let facts: [String: Fact]

    /// A JSON value without parts.
    enum Fact: Codable {
        case flag(Bool)
        case number(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .flag(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }

        var shown: String {
            switch self {
            case .flag(let flag): flag ? "yes" : "no"
            case .number(let number): "\(number)"
            case .text(let text): text
            }
        }
    }

    init(_ json: String) {
        self.facts = (try? JSONDecoder().decode([String: Fact].self, from: Data(json.utf8))) ?? ["json": .text(json)]
    }

    func encode(to encoder: any Encoder) throws { try self.facts.encode(to: encoder) }

    var sorted: [(name: String, value: String)] {
        self.facts.sorted { $0.key < $1.key }.map { fact in
            let name = fact.key.map { $0 == "_" ? " " : String($0) }.joined()
            if fact.key == "verified_ms", case .number(let time) = fact.value {
                return ("at", Timestamp(milliseconds: time).text)
            }
            return (name, fact.value.shown)
        }
    }
}

/// A wallet's report for programs; times in ISO 8601.
private struct WalletJSON: Encodable {
    let wallet: String
    let now: String
    let registeredAt: String
    let sessionOpened: Bool
    let lastSession: String?
    let openConnections: Int
    let state: String
    let revocation: Ended?
    let solutionRevoked: Bool
    let pin: PIN
    let linkedToRecoveryCode: Bool
    let hasDeletionCode: Bool
    let features: Offered
    let platform: String
    let app: String
    let environment: String?
    let assertionCounter: UInt32?
    let attested: AttestedFacts

    struct Ended: Encodable {
        let reason: String
        let at: String
        let mayRegisterAnew: Bool
    }

    struct PIN: Encodable {
        let state: String
        let round: Int
        let failures: Int
        var attemptsLeft: Int?
        var finalRound: Bool?
        var blockedUntil: String?
        var remainingMs: Int64?

        init(_ pin: WalletReport.PIN) {
            self.round = pin.round
            self.failures = pin.failures
            self.blockedUntil = pin.blockedUntil?.text
            switch pin.state {
            case .open(let left, let isFinal):
                self.state = "open"
                (self.attemptsLeft, self.finalRound) = (left, isFinal)
            case .blocked(let remaining):
                self.state = "blocked"
                self.remainingMs = remaining.milliseconds
            case .blockedPermanently: self.state = "blocked-permanently"
            }
        }
    }

    struct Offered: Encodable {
        let deletionCode: Bool
        let safeBiometricUnlock: Bool
    }

    init(_ report: WalletReport) {
        self.wallet = "\(report.walletID)"
        self.now = report.now.text
        self.registeredAt = report.registeredAt.text
        self.sessionOpened = report.sessionOpened
        self.lastSession = report.lastSession?.text
        self.openConnections = report.openConnections
        self.state = report.condition.rawValue
        self.revocation = report.revoked.map {
            Ended(
                reason: $0.revocation.reason.rawValue,
                at: $0.at.text,
                mayRegisterAnew: $0.revocation.mayRegisterAnew
            )
        }
        self.solutionRevoked = report.solutionRevoked
        self.pin = PIN(report.pin)
        self.linkedToRecoveryCode = report.isLinkedToRecoveryCode
        self.hasDeletionCode = report.hasDeletionCode
        self.features = Offered(
            deletionCode: report.features.deletionCode,
            safeBiometricUnlock: report.features.safeBiometricUnlock
        )
        self.platform = report.app.platform.rawValue
        self.app = report.app.id
        self.environment = report.app.environment.isEmpty ? nil : report.app.environment
        self.assertionCounter = report.assertionCounter
        self.attested = AttestedFacts(report.attested)
    }
}
