internal import HistoryChecker
internal import HostSystem
package import LoadFleet
internal import Synchronization
internal import Vocabulary

extension Fleet {
    /// Resets the histories of all wallets to unknown.
    ///
    /// The next response to each wallet is then accepted, and later responses are checked.
    ///
    /// Use this if the server's store was restored from a backup, so that its counts legitimately differ from those of
    /// earlier runs.
    package func forgetHistories() throws(FleetError) {
        for index in 0..<self.count { try self.record(of: index) { _ in .unknown } }
    }
}

/// The histories of the wallets in use, loaded from the fleet's file and saved to it.
///
/// While a wallet is in use, its history in the file is "unknown", so that the next run does not raise a false alarm if
/// this one is killed. A wallet with operations that may still be judged stays in the cache until the end.
final class WalletHistoryCache: Sendable {
    private let fleet: Fleet
    private let rules: CheckerRules
    private let unknown: HistorySummary
    private let keepsTranscripts: Bool
    private let wallets = Mutex<[Int: CheckedWallet]>([:])
    private let past = Mutex(Past())

    /// Data about wallets that are no longer in use.
    private struct Past {
        var overflowCount = 0
        var epochStepCount = 0
        var uses = 0
        /// The wallets with wrong PINs counted on the server, each with the number of its last use.
        var withCounts: [Int: Int] = [:]

        mutating func note(_ wallet: CheckedWallet, atMost most: Int) {
            let index = wallet.wallet.index
            self.overflowCount += wallet.overflowCount
            self.epochStepCount += wallet.epochStepCount
            self.uses += 1
            if !wallet.hasCounts {
                self.withCounts[index] = nil
            } else if self.withCounts.count < most || self.withCounts[index] != nil {
                self.withCounts[index] = self.uses
            }
        }
    }

    /// The maximum number of wallets to remember for the check at the end of a run.
    private static let maxRemembered = 100_000

    init(_ fleet: Fleet, _ rules: CheckerRules, keepsTranscripts: Bool = false) {
        self.keepsTranscripts = keepsTranscripts
        self.fleet = fleet
        self.rules = rules
        self.unknown = WalletHistory(unknownUnder: rules).summary(at: Timestamp(milliseconds: 0), generation: 0)
    }

    /// Starts using a wallet.
    func open(_ index: Int) throws(FleetFailure) -> CheckedWallet {
        let known = self.wallets.withLock { wallets in
            wallets[index]?.enter()
            return wallets[index]
        }
        if let known { return known }
        let loaded = try mapError(self.load(index), to: FleetFailure.fleet)
        return self.wallets.withLock { wallets in
            let first = wallets[index] ?? loaded
            first.enter()
            wallets[index] = first
            return first
        }
    }

    private func load(_ index: Int) throws(FleetError) -> CheckedWallet {
        let (wallet, summary) = try self.fleet.takeHistory(of: index, leaving: self.unknown)
        return CheckedWallet(
            wallet,
            WalletHistory(self.rules, from: summary, generation: Int(wallet.generation)),
            attemptsPerRound: self.rules.policy.attemptsPerRound,
            keepsTranscript: self.keepsTranscripts
        )
    }

    /// Records that a user no longer uses a wallet.
    func close(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetFailure) {
        let isDone = self.wallets.withLock { wallets in
            guard wallet.leave() else { return false }
            wallets[wallet.wallet.index] = nil
            return true
        }
        guard isDone else { return }
        self.past.withLock { $0.note(wallet, atMost: Self.maxRemembered) }
        try mapError(self.save(wallet, at: now), to: FleetFailure.fleet)
    }

    /// The wallets with wrong PINs counted on the server, most recently used first.
    var withCounts: [Int] {
        let inUse = self.wallets.withLock { wallets in wallets.values.filter(\.hasCounts).map(\.wallet.index) }
        let past = self.past.withLock(\.withCounts)
        return inUse + past.sorted { $0.value > $1.value }.map(\.key).filter { !inUse.contains($0) }
    }

    /// A randomly chosen wallet with a session, or nil if no session is open.
    var anyInUse: CheckedWallet? { self.wallets.withLock { $0.values.filter { $0.hasUsers }.randomElement() } }

    /// Saves the remaining wallets.
    ///
    /// Must be called after all connections have closed. Returns the number of overflows and the number of epoch steps
    /// in all histories.
    func saveAll(at now: Timestamp) throws(FleetError) -> (overflows: Int, epochSteps: Int) {
        let rest = self.wallets.withLock { wallets in
            defer { wallets = [:] }
            return Array(wallets.values)
        }
        for wallet in rest { try self.save(wallet, at: now) }
        return self.past.withLock { past in
            (
                rest.reduce(past.overflowCount) { $0 + $1.overflowCount },
                rest.reduce(past.epochStepCount) { $0 + $1.epochStepCount }
            )
        }
    }

    /// Records that the server's process ended before this moment.
    func serverEnded(by now: Timestamp) {
        for wallet in self.wallets.withLock({ Array($0.values) }) { wallet.serverEnded(by: now) }
    }

    private func save(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetError) {
        // The generation in the file counts, because the PIN may have been changed during the session.
        try self.fleet.record(of: wallet.wallet.index) { wallet.summary(at: now, generation: $0) }
    }
}
