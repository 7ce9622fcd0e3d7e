internal import AdminProtocol
package import ArgumentParser
package import AuditLog
internal import Foundation
internal import PINPolicy
internal import RemotePINServer
internal import ServerSettings
internal import StoreMaintenance
internal import Vault
package import Vocabulary
internal import WalletStore

/// `wallet show`: shows the server's record of a wallet.
///
/// The reply does not contain any secrets: no share, key or code.
package struct ShowWallet: AdminCall {
    package static let name = "wallet show"
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .support }

    package var wallet: WalletID

    package init(_ wallet: WalletID) { self.wallet = wallet }

    package struct Reply: Codable, Sendable {
        package var wallet: WalletID
        /// The time at which the PIN state was determined.
        package var now: Timestamp
        package var registeredAt: Timestamp
        /// Whether the wallet has ever opened a session.
        package var sessionOpened: Bool
        /// The start of the last session; omitted if the server knows of none.
        package var lastSession: Timestamp?
        package var openConnections: Int
        /// The server whose connections these are; omitted for an embedded store.
        package var server: String?
        package var state: WalletCondition
        /// The end of the wallet.
        ///
        /// Omitted while the wallet is in use.
        package var revocation: Ended?
        /// Whether the solution is revoked.
        ///
        /// If so, the wallet's state applies again once the solution is restored.
        package var solutionRevoked: Bool
        /// The PIN state; omitted if the attempt record is damaged.
        package var pin: PIN?
        package var linkedToRecoveryCode: Bool
        /// Whether the wallet received a deletion code at registration.
        package var hasDeletionCode: Bool
        package var features: Offered
        package var platform: Platform
        /// The package name, or the team and bundle id.
        package var app: String
        /// The App Attest environment.
        ///
        /// Omitted on Android.
        package var environment: String?
        /// The last accepted App Attest counter.
        ///
        /// Omitted on Android.
        package var assertionCounter: UInt32?
        /// The facts attested at registration.
        package var attested: AttestedFacts
    }

    package struct Ended: Codable, Hashable, Sendable {
        package var reason: Revocation.Reason
        package var at: Timestamp
        package var mayRegisterAnew: Bool

        package init(_ revocation: Revocation, at time: Timestamp) {
            self.reason = revocation.reason
            self.at = time
            self.mayRegisterAnew = revocation.mayRegisterAnew
        }
    }

    /// The state of a wallet's PIN.
    package struct PIN: Codable, Hashable, Sendable {
        package var state: WalletCondition
        /// The round of the next PIN, or the round in which the wallet was permanently blocked.
        package var round: Int
        /// The number of wrong PINs since the last correct one.
        package var failures: Int
        /// The number of attempts left.
        ///
        /// Present in the `open` state.
        package var attemptsLeft: Int?
        package var finalRound: Bool?
        /// The end of the block.
        ///
        /// Present in the `blocked` state.
        package var blockedUntil: Timestamp?
        package var remainingMs: Int64?

        init(_ attempts: AttemptRecord, policy: AttemptPolicy, now: Timestamp) {
            let state = attempts.state(policy: policy, now: now)
            let round = state == .blockedPermanently ? policy.rounds : attempts.failures / policy.attemptsPerRound + 1
            self.init(state, round: min(round, policy.rounds), failures: attempts.failures, now: now)
        }

        package init(_ state: PINState, round: Int, failures: Int, now: Timestamp) {
            (self.round, self.failures) = (round, failures)
            self.state = WalletCondition(isRevoked: false, sessionOpened: true, pin: state)
            switch state {
            case .open(let left, let isFinal): (self.attemptsLeft, self.finalRound) = (left, isFinal)
            case .blocked(let remaining):
                (self.blockedUntil, self.remainingMs) = (now + remaining, remaining.milliseconds)
            case .blockedPermanently: break
            }
        }
    }

    /// The features offered in the wallet's next session.
    package struct Offered: Codable, Hashable, Sendable {
        package var deletionCode: Bool
        package var safeBiometricUnlock: Bool

        package init(_ features: Features) {
            self.deletionCode = features.deletionCode
            self.safeBiometricUnlock = features.safeBiometricUnlock
        }
    }

    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        try await body(AuditSubject(wallets: [self.wallet]))
    }

    package func run(in service: AdminService) async throws -> Reply {
        let (server, now) = (service.server, service.server.clock.now())
        guard let stored = try await server.store.report(of: self.wallet) else {
            throw AdminFailure.unknown([self.wallet])
        }
        // The identity is unsealed only to read its public parts.
        let identity = try server.vault.openIdentity(stored.identity, of: self.wallet)
        guard let app = server.app(in: identity) else {
            throw AdminFailure(.internal, "The wallet's identity is not one that this server wrote.")
        }
        let (policy, attempts) = (server.rules.attempts, stored.attempts(under: server.rules.attempts))
        let state = attempts?.state(policy: policy, now: now)
        return Reply(
            wallet: self.wallet,
            now: now,
            registeredAt: stored.registeredAt,
            sessionOpened: stored.sessionOpened,
            lastSession: server.unsavedLastSession(of: self.wallet) ?? stored.lastSession,
            openConnections: server.connectionCount(of: self.wallet),
            server: server.lease?.server,
            state: WalletCondition(
                isRevoked: stored.revocation != nil,
                sessionOpened: stored.sessionOpened,
                pin: state
            ),
            revocation: stored.revocation.map { Ended($0, at: stored.revokedAt) },
            solutionRevoked: stored.isSolutionRevoked,
            pin: attempts.map { PIN($0, policy: policy, now: now) },
            linkedToRecoveryCode: stored.isLinkedToRecoveryCode,
            hasDeletionCode: stored.hasDeletionCode,
            features: Offered(server.features(of: self.wallet)),
            platform: app.platform,
            app: app.id,
            environment: app.environment.isEmpty ? nil : app.environment,
            assertionCounter: stored.assertionCounter,
            attested: AttestedFacts(stored.attested)
        )
    }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the record of a wallet: its state, its counters, the attested facts.",
            discussion: """
                The record contains no secret: no share, no key, no code. The server's log has the wallet's id in each \
                line about it. The states are those of `wallet list`.

                  remote-pin-server admin wallet show 3f9c01… --lab /tmp/lab
                  remote-pin-server admin wallet show 3f9c01… --json --lab /tmp/lab |
                    jq .pin.failures
                """
        )

        @Argument(help: ArgumentHelp("The wallet, 32 hexadecimal digits.", valueName: "wallet"), transform: walletID)
        var wallet: WalletID

        @OptionGroup var options: CallOptions

        func call() -> ShowWallet { ShowWallet(self.wallet) }

        func draw(_ reply: Reply, on page: inout Page) {
            var facts: [(name: String, value: String)] = [
                ("wallet", "\(reply.wallet)"), ("state", reply.stateText(page)),
                ("PIN", reply.pin?.text(page) ?? page.bad("the attempt record is damaged: revoke this wallet")),
                ("wrong PINs", reply.pin.map { "\($0.failures) since the last right one" } ?? "unknown"),
                ("registered", reply.registeredAt.text),
                (
                    "last session",
                    reply.lastSession?.text ?? (reply.sessionOpened ? "not recorded" : "none was ever opened")
                ),
                ("connections", "\(reply.openConnections) now" + (reply.server.map { " at \($0)" } ?? "")),
                ("recovery code", reply.linkedToRecoveryCode ? "linked to one" : "not linked"),
                ("deletion code", reply.hasDeletionCode ? "has one" : "has none"),
                ("safe biometrics", reply.features.safeBiometricUnlock ? "on" : "off"),
                ("platform", reply.platform.rawValue),
                ("app", reply.app + (reply.environment.map { " (\($0))" } ?? "")),
            ]
            if let counter = reply.assertionCounter { facts.append(("assertion counter", "\(counter)")) }
            for (name, value) in reply.attested.sorted { facts.append(("attested \(name)", value)) }
            page.facts(facts)
        }
    }
}

extension ShowWallet.Reply {
    fileprivate func stateText(_ page: Page) -> String {
        let solution = self.solutionRevoked ? page.bad("; the solution is revoked") : ""
        guard let revocation else {
            let word = self.state.rawValue
            let isBlocked = [.blocked, .blockedPermanently, .damaged].contains(self.state)
            return (isBlocked ? page.bad(word) : self.state == .open ? page.good(word) : word) + solution
        }
        let actor =
            switch revocation.reason {
            case .user: "by its user"
            case .wallet: "by an operator (this wallet)"
            case .recoveryCode: "by an operator (through its recovery code)"
            case .solution: "by an operator (the whole solution)"
            }
        let again = revocation.mayRegisterAnew ? "its device may register again" : "its device may not register again"
        return page.bad("revoked \(actor)") + " on \(revocation.at.text); \(again)" + solution
    }
}

extension ShowWallet.PIN {
    fileprivate func text(_ page: Page) -> String {
        if let left = self.attemptsLeft {
            let attempts = left == 1 ? "1 attempt" : "\(left) attempts"
            return "\(attempts) left in round \(self.round)" + (self.finalRound == true ? ", the final one" : "")
        }
        guard let remaining = self.remainingMs else { return page.bad("blocked permanently") }
        let until = self.blockedUntil.map { ", until \($0.text)" } ?? ""
        return page.bad("blocked for \(Duration.milliseconds(remaining).spoken)") + "\(until); then round \(self.round)"
    }
}

extension AdminFailure {
    /// Returns a failure that reports that no wallets have these ids.
    static func unknown(_ wallets: [WalletID]) -> AdminFailure {
        let verb = wallets.count == 1 ? "is" : "are"
        return AdminFailure(.unknownWallet, "There \(verb) no \(wallets.named(atMost: 8)); nothing was done.")
    }
}

/// The state of a wallet as shown to operators.
///
/// Also used in counts and filters.
package enum WalletCondition: String, Codable, CodingKeyRepresentable, Hashable, Sendable, CaseIterable {
    /// The next PIN will be checked.
    case open
    case blocked
    case blockedPermanently = "blocked-permanently"
    /// Registered, but no session has been opened yet.
    case neverOpened = "never-opened"
    case revoked
    /// The attempt record was not written by this server, so no PIN is checked.
    ///
    /// Revoke the wallet.
    case damaged

    /// Determines the condition.
    ///
    /// A revocation takes precedence over damage, because a revoked wallet needs no attempt record. Damage takes
    /// precedence over a missing session, because the wallet's first session will fail.
    init(isRevoked: Bool, sessionOpened: Bool, pin: PINState?) {
        guard !isRevoked else {
            self = .revoked
            return
        }
        switch pin {
        case nil: self = .damaged
        case _ where !sessionOpened: self = .neverOpened
        case .open: self = .open
        case .blocked: self = .blocked
        case .blockedPermanently: self = .blockedPermanently
        }
    }
}

extension StoredListing {
    func condition(policy: AttemptPolicy, now: Timestamp) -> WalletCondition {
        WalletCondition(
            isRevoked: self.revocation != nil,
            sessionOpened: self.sessionOpened,
            pin: self.attempts(under: policy)?.state(policy: policy, now: now)
        )
    }

    /// The number of wallets read by one step of the store.
    ///
    /// It is small so that PIN checks do not have to wait.
    static let countPerStep = 200
}

/// The facts that were attested when a wallet was registered, by name.
package struct AttestedFacts: Codable, Hashable, Sendable {
    package let facts: [String: Fact]

    /// A scalar JSON value.
    package enum Fact: Codable, Hashable, Sendable {
        case flag(Bool)
        case number(Int64)
        case text(String)

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .flag(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }

        fileprivate var shown: String {
            switch self {
            case .flag(let flag): flag ? "yes" : "no"
            case .number(let number): "\(number)"
            case .text(let text): text
            }
        }
    }

    /// Parses the JSON object from the store.
    ///
    /// Any other text is kept as a single fact.
    init(_ json: String) {
        self.facts = (try? JSONDecoder().decode([String: Fact].self, from: Data(json.utf8))) ?? ["json": .text(json)]
    }

    package init(from decoder: any Decoder) throws { self.facts = try [String: Fact](from: decoder) }

    package func encode(to encoder: any Encoder) throws { try self.facts.encode(to: encoder) }

    /// The facts sorted by name, for display.
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
