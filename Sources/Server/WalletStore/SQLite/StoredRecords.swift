internal import SQLiteClient
package import Vocabulary

/// The attempt records of a store that no process has open and that has no log, verified without changing anything.
package struct StoredRecords: Sendable {
    /// The number of wallets in use whose record a server wrote.
    package private(set) var genuine = 0
    /// The wallets in use whose record is missing or was not written by a server.
    package private(set) var damaged: [WalletID] = []
    /// The number of rows that do not even contain a wallet's id.
    package private(set) var unreadable = 0
    /// Whether the store's note of its record key names this key, or nil if the store has no such note.
    package private(set) var namesKey: Bool?

    /// The number of wallets after which `progress` is called again.
    private static let stepSize = 10_000

    /// Reads every wallet's record.
    ///
    /// This takes about as long as reading the file, and blocks the calling thread.
    ///
    /// - Parameters:
    ///   - key: The key of the records' MACs.
    ///   - progress: Called with the number of wallets read.
    /// - Throws: A description of SQLite's failure.
    package init(in folder: String, key: RecordKey, progress: (Int) -> Void) throws {
        let store = try SQLiteDatabase(unchanged: folder + "/wallets.db")
        var (wallets, genuine, damaged, unreadable): (Int, Int, [WalletID], Int) = (0, 0, [], 0)
        var namesKey: Bool?
        try store.statement("SELECT key_check FROM record_key").forEachRow { namesKey = $0.bytes(0) == key.check }
        let sql = "SELECT id, state, record FROM wallets LEFT JOIN attempts ON attempts.wallet = wallets.key"
        try store.statement(sql).forEachRow { row in
            wallets += 1
            if wallets.isMultiple(of: Self.stepSize) { progress(wallets) }
            guard let wallet = row.bytes(0).flatMap({ WalletID($0) }) else {
                unreadable += 1
                return
            }
            let found = FoundWallet(
                cursor: 0,
                id: wallet,
                state: row.bytes(1).flatMap { WalletState(decoding: $0) },
                attempts: row.bytes(2).flatMap { KeptAttempts(decoding: $0, of: wallet, by: key) },
                isBlockRecorded: false
            )
            if found.isDamaged { damaged.append(wallet) } else if found.isInUse { genuine += 1 }
        }
        (self.genuine, self.damaged, self.unreadable, self.namesKey) = (genuine, damaged, unreadable, namesKey)
    }
}
