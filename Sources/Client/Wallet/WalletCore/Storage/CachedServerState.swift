internal import Vocabulary
internal import WalletFlows

/// The latest information from the server, displayed while the server cannot be reached.
///
/// It does not prove anything, so registrations, slots and access data never depend on it.
struct CachedServerState: Codable, Hashable, Sendable {
    /// Nil if the server has not reported a revocation.
    var lastRevocation: Revocation?
    var update: Update?
    var policy: Policy?
    /// The features that the server offers to this wallet.
    ///
    /// The worst a forged safe mode flag can do is cause a migration, which requires the PIN and a prompt.
    var lastFeatures: Features?

    struct Update: Codable, Hashable, Sendable {
        var kind: String
        var blockedInMs: Int64?
        var updateAvailable: Bool?
        var receivedAtMs: Int64
        var appVersion: String
    }

    struct Policy: Codable, Hashable, Sendable {
        var rounds: Int
        var attemptsPerRound: Int
        var blocksMs: [Int64]
    }

    var attemptPolicy: AttemptPolicy? {
        get {
            guard let policy = self.policy else { return nil }
            return AttemptPolicy(
                rounds: policy.rounds,
                attemptsPerRound: policy.attemptsPerRound,
                blocks: policy.blocksMs.map { .milliseconds($0) }
            )
        }
        set {
            self.policy = newValue.map {
                Policy(
                    rounds: $0.rounds,
                    attemptsPerRound: $0.attemptsPerRound,
                    blocksMs: $0.blocks.map(\.milliseconds)
                )
            }
        }
    }

    var lastUpdate: RememberedUpdate? {
        get {
            guard let update = self.update, let version = AppVersion(update.appVersion), let verdict = update.verdict
            else { return nil }
            return RememberedUpdate(
                verdict: verdict,
                receivedAt: Timestamp(milliseconds: update.receivedAtMs),
                appVersion: version
            )
        }
        set { self.update = newValue.map(Update.init) }
    }
}

extension CachedServerState.Update {
    init(_ remembered: RememberedUpdate) {
        self.receivedAtMs = remembered.receivedAt.milliseconds
        self.appVersion = remembered.appVersion.description
        switch remembered.verdict {
        case .ok: self.kind = "ok"
        case .notify: self.kind = "notify"
        case .recommend: self.kind = "recommend"
        case .warn(let blockedIn):
            self.kind = "warn"
            self.blockedInMs = blockedIn.milliseconds
        case .block(let updateAvailable):
            self.kind = "block"
            self.updateAvailable = updateAvailable
        }
    }

    var verdict: UpdateVerdict? {
        switch (self.kind, self.blockedInMs, self.updateAvailable) {
        case ("ok", _, _): .ok
        case ("notify", _, _): .notify
        case ("recommend", _, _): .recommend
        case ("warn", .some(let time), _): .warn(blockedIn: .milliseconds(time))
        case ("block", _, .some(let available)): .block(updateAvailable: available)
        case (_, _, _): nil
        }
    }
}
