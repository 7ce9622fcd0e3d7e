package import LoadFleet
internal import Synchronization
internal import HistoryChecker
internal import Vocabulary

extension Fleet {
    /// Forgets what earlier runs learned of all wallets; their next answers are believed, and judged from then on.
    ///
    /// For a server whose store was restored from a backup: it counts other things than it did, and accuses nobody.
    package func forgetHistories() throws(FleetError) {
        let all = WalletHistoryBytes(first: HistorySummary.unknown.first, second: HistorySummary.unknown.second)
        for index in 0..<self.count { try self.record(all, of: index) }
    }
}

/// The wallets that are known in this run beyond what their file says.
///
/// Before a wallet is used its past in the file becomes "unknown", and what is known comes back when it was used: a tool
/// that is killed in between then accuses nobody in its next run. A wallet of which something that was sent may still be judged stays
/// here to the end.
final class WalletHistoryCache: Sendable {
    private let fleet: Fleet
    private let rules: CheckerRules
    private let unknown: WalletHistoryBytes
    private let wallets = Mutex<[Int: CheckedWallet]>([:])
    private let past = Mutex(Past())

    /// What is remembered of wallets that nobody uses at present.
    private struct Past {
        var timesForgotten = 0
        var uses = 0
        /// Those of which the server must know wrong PINs, each with the number of its last use.
        var withCounts: [Int: Int] = [:]

        mutating func note(_ wallet: CheckedWallet, atMost most: Int) {
            let index = wallet.wallet.index
            self.timesForgotten += wallet.timesForgotten
            self.uses += 1
            if !wallet.hasCounts {
                self.withCounts[index] = nil
            } else if self.withCounts.count < most || self.withCounts[index] != nil {
                self.withCounts[index] = self.uses
            }
        }
    }

    /// So many wallets are looked at once more at the most.
    private static let mostLookedAt = 100_000

    init(_ fleet: Fleet, _ rules: CheckerRules) {
        self.fleet = fleet
        self.rules = rules
        let kept = WalletHistory(unknownUnder: rules).summary(at: Timestamp(milliseconds: 0), generation: 0)
        self.unknown = WalletHistoryBytes(first: kept.first, second: kept.second)
    }

    /// Takes a wallet into use.
    func open(_ index: Int) throws(FleetError) -> CheckedWallet {
        let known = self.wallets.withLock { wallets in
            wallets[index]?.enter()
            return wallets[index]
        }
        if let known { return known }
        let wallet = try self.fleet[index]
        let past = try self.fleet.history(of: index)
        let kept = past.map { HistorySummary(first: $0.first, second: $0.second) } ?? .fresh
        try self.fleet.record(self.unknown, of: index)
        let judged = CheckedWallet(
            wallet,
            WalletHistory(self.rules, from: kept, generation: Int(wallet.generation))
        )
        return self.wallets.withLock { wallets in
            let first = wallets[index] ?? judged
            first.enter()
            wallets[index] = first
            return first
        }
    }

    /// A user is done with it.
    func close(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetError) {
        let isDone = self.wallets.withLock { wallets in
            guard wallet.leave() else { return false }
            wallets[wallet.wallet.index] = nil
            return true
        }
        guard isDone else { return }
        self.past.withLock { $0.note(wallet, atMost: Self.mostLookedAt) }
        try self.keep(wallet, at: now)
    }

    /// The wallets of which the server must still know wrong PINs, those that were used last first.
    var withCounts: [Int] {
        let inUse = self.wallets.withLock { wallets in wallets.values.filter(\.hasCounts).map(\.wallet.index) }
        let past = self.past.withLock(\.withCounts)
        return inUse + past.sorted { $0.value > $1.value }.map(\.key).filter { !inUse.contains($0) }
    }

    /// Writes what is left, once no connection is open any more; returns how often more was on its way than could be followed.
    func closeAll(at now: Timestamp) throws(FleetError) -> Int {
        let rest = self.wallets.withLock { wallets in
            defer { wallets = [:] }
            return Array(wallets.values)
        }
        for wallet in rest { try self.keep(wallet, at: now) }
        return rest.reduce(self.past.withLock(\.timesForgotten)) { $0 + $1.timesForgotten }
    }

    /// The server's process ended before this moment.
    func serverEnded(by now: Timestamp) {
        for wallet in self.wallets.withLock({ Array($0.values) }) { wallet.serverEnded(by: now) }
    }

    private func keep(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetError) {
        let index = wallet.wallet.index
        // Read anew: the session may have changed the PIN.
        let generation = try self.fleet[index].generation
        try self.fleet.record(wallet.kept(at: now, generation: generation), of: index)
    }
}
