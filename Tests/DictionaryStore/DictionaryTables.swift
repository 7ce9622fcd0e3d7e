package import Vocabulary
package import WalletStore

/// The contents of a store as values: a copy of them undoes a transaction.
package struct DictionaryTables: Hashable, Sendable {
    package var wallets: [WalletID: WholeWallet] = [:]
    package var sides = SideRows()
    package var isSolutionRevoked = false
    package var operatorRevision: Int64 = 0
    package var auditMark: StoredAuditMark?
    /// The number of the wallet that was registered last.
    package var lastPlace: Int64 = 0

    package init() {}

    /// An entry of a page.
    struct Entry {
        let place: Int64
        /// Nil if the entry is not to be returned.
        var id: WalletID?
        var wallet: WholeWallet?
    }

    /// Returns a page of entries in order of registration, and whether it has as many as were asked for.
    func page(_ selection: WalletSelection) -> (entries: [Entry], isFull: Bool) {
        switch selection {
        case .next(let after, let last, let limit):
            let end = last.map { Int64(bitPattern: $0) } ?? .max
            return Self.page(self.wallets.values.map(Self.entry), after, limit) { $0.place <= end }
        case .ended(let after, let time, let limit):
            let ended = self.wallets.values.compactMap { wallet in
                wallet.endedAt.map { $0 < time ? Self.entry(wallet) : Entry(place: wallet.row.key.number) }
            }
            return Self.page(ended, after, limit)
        case .unopened(let after, let time, let limit):
            let unopened = self.sides[.unopened].compactMap { mark -> Entry? in
                guard let place = mark.numberIfAny(0), let since = mark.timeIfAny(2) else { return nil }
                guard since < time else { return Entry(place: place) }
                let id = mark.bytesIfAny(1).flatMap { WalletID($0) }
                return Entry(place: place, id: id, wallet: id.flatMap { self.wallet($0, at: place) })
            }
            return Self.page(unopened, after, limit)
        case .these(let ids): return (ids.once.compactMap { self.wallets[$0].map(Self.entry) }, false)
        }
    }

    /// Returns a wallet, unless another one has taken its id since.
    private func wallet(_ id: WalletID, at place: Int64) -> WholeWallet? {
        self.wallets[id].flatMap { $0.row.key.number == place ? $0 : nil }
    }

    private static func entry(_ wallet: WholeWallet) -> Entry {
        Entry(place: wallet.row.key.number, id: wallet.id, wallet: wallet)
    }

    private static func page(
        _ entries: [Entry],
        _ cursor: UInt64?,
        _ limit: Int,
        _ isIncluded: (Entry) -> Bool = { _ in true }
    ) -> (entries: [Entry], isFull: Bool) {
        let start = WalletSelection.start(cursor)
        let found = entries.filter { $0.place > start && isIncluded($0) }.sorted { $0.place < $1.place }.prefix(limit)
        return (Array(found), found.count == limit)
    }
}
