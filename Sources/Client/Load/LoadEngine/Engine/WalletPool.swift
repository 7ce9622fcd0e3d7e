internal import Synchronization

/// Lends this machine's wallets to users, each to one user at a time unless the plan shares a single wallet.
///
/// Two users of the same wallet would see each other's attempts, so a plan must explicitly ask for this. If a wallet
/// that is already in use is drawn, another one is drawn, so that the other wallets keep their proportions.
final class WalletPool: Sendable {
    struct State {
        /// One bit per wallet.
        var taken: [UInt64]
        var takenCount = 0
        /// The wallets that have ever been lent, also with one bit per wallet.
        var used: [UInt64]
        var usedCount = 0
    }

    private let picker: WalletPicker
    private let count: Int
    /// The index of the first wallet, which corresponds to the first bit in the state.
    private let first: Int
    private let isShared: Bool
    private let state: Mutex<State>

    /// The number of draws after which the next free wallet is taken instead.
    ///
    /// This limit is reached if nearly all wallets are in use, or if a few wallets in use have nearly all of the
    /// distribution's weight.
    private static let maxDraws = 64

    init(_ pick: Pick, among wallets: Range<Int>) throws(PlanProblem) {
        let count = wallets.count
        self.picker = try WalletPicker(pick, among: count)
        self.count = count
        self.first = wallets.lowerBound
        self.isShared = pick.sharesWallets
        let bits: [UInt64] = Array(repeating: 0, count: pick.sharesWallets ? 0 : (count + 63) / 64)
        self.state = Mutex(State(taken: bits, used: bits))
    }

    /// The number of different wallets that have been lent.
    var usedCount: Int { self.isShared ? 1 : self.state.withLock(\.usedCount) }

    /// Takes a wallet; returns its index in the file, or nil if all are in use.
    ///
    /// - Parameter wanted: The wallet to take if it is free.
    func take(_ wanted: Int? = nil, using generator: inout PlanGenerator) -> Int? {
        if self.isShared { return self.first + self.picker.next(using: &generator) }
        return self.state.withLock { state in
            guard state.takenCount < self.count else { return nil }
            if let wanted, !state.isTaken(wanted - self.first) {
                state.take(wanted - self.first)
                return wanted
            }
            var index = self.picker.next(using: &generator)
            var draws = 1
            while state.isTaken(index), draws < Self.maxDraws {
                index = self.picker.next(using: &generator)
                draws += 1
            }
            guard let free = state.firstFree(from: index, of: self.count) else { return nil }
            state.take(free)
            return self.first + free
        }
    }

    /// Takes this wallet; returns false if it is in use.
    func take(exactly index: Int) -> Bool {
        self.isShared
            || self.state.withLock { state in
                guard !state.isTaken(index - self.first) else { return false }
                state.take(index - self.first)
                return true
            }
    }

    /// Returns a wallet to the pool.
    func release(_ index: Int) {
        guard !self.isShared else { return }
        self.state.withLock { $0.release(index - self.first) }
    }
}

extension WalletPool.State {
    func isTaken(_ index: Int) -> Bool { self.taken[index / 64] & 1 << UInt64(index % 64) != 0 }

    mutating func take(_ index: Int) {
        let bit: UInt64 = 1 << UInt64(index % 64)
        self.taken[index / 64] |= bit
        self.takenCount += 1
        guard self.used[index / 64] & bit == 0 else { return }
        self.used[index / 64] |= bit
        self.usedCount += 1
    }

    mutating func release(_ index: Int) {
        guard self.isTaken(index) else { return }
        self.taken[index / 64] &= ~(1 << UInt64(index % 64))
        self.takenCount -= 1
    }

    func firstFree(from start: Int, of count: Int) -> Int? {
        (0..<count).lazy.map { (start + $0) % count }.first { !self.isTaken($0) }
    }
}
