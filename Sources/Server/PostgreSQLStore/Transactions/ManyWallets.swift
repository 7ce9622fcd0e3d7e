internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Reads of many wallets.
extension StoreTransaction {
    func find(_ selection: WalletSelection) throws -> WalletPage<FoundWallet> {
        let rows = try self.rows(.found, of: selection)
        return try WalletPage(rows, of: selection) { row in
            let wallet: WalletID? = try? row.identifier(1)
            let narrow = row.bytesIfAny(2).flatMap { NarrowRow(decoding: $0) }
            return FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                state: narrow?.version == row.numberIfAny(3) ? narrow?.state : nil,
                attempts: wallet.flatMap { narrow?.attempts(of: $0, by: self.key) },
                isBlockRecorded: row.rows.flag(row.place, 4) == true
            )
        }
    }

    func records(_ selection: WalletSelection) throws -> WalletPage<WalletRecord> {
        let rows = try self.rows(.records, of: selection)
        return try WalletPage(rows, of: selection) { row in
            let wallet: WalletID = try row.identifier(1)
            return WalletRecord(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                registeredAt: try row.time(Self.others + 1),
                lastSession: row.timeIfAny(Self.others + 5),
                whole: try? self.whole(wallet, in: row)
            )
        }
    }

    /// The position of the first column after the wallet's rows.
    private static let others = 2 + StoredValues.columnCount

    private func whole(_ wallet: WalletID, in row: PostgreSQLRow) throws -> WholeWallet {
        let values = try StoredValues(row.rows, at: row.place, from: 2, of: wallet, by: self.key)
        return WholeWallet(
            id: wallet,
            attempts: NarrowRow.attempts(in: values.onFile),
            row: values.wallet.row,
            next: values.wallet.next,
            deletionDigest: row.bytesIfAny(Self.others),
            registeredAt: try row.time(Self.others + 1),
            attested: row.textIfAny(Self.others + 2),
            unopenedSince: row.timeIfAny(Self.others + 3),
            endedAt: row.timeIfAny(Self.others + 4),
            lastSession: row.timeIfAny(Self.others + 5),
            isBlockRecorded: row.rows.flag(row.place, Self.others + 6) == true
        )
    }

    private func rows(_ columns: FindStatement.Columns, of selection: WalletSelection) throws -> [PostgreSQLRow] {
        PostgreSQLRow.all(in: try self.run(.find(.read(columns, selection))))
    }

    func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) throws -> WalletPage<FoundWallet> {
        let start = WalletSelection.start(cursor)
        let page = try self.run(.find(.page(after: start, limit: limit)))
        guard let last = page.number(0, 0), let count = page.number(0, 1) else {
            return WalletPage(wallets: [], next: nil)
        }
        let rows = try self.run(.find(.linked(after: start, last: last, mac)))
        let wallets = try PostgreSQLRow.all(in: rows).map { row in
            FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: try? row.identifier(1),
                state: row.bytesIfAny(2).flatMap { NarrowRow(decoding: $0) }?.state,
                attempts: nil,
                isBlockRecorded: false
            )
        }
        return WalletPage(wallets: wallets, next: count < limit ? nil : UInt64(bitPattern: last))
    }

    func firstAndLastPlace() throws -> (first: Int64, last: Int64)? {
        let range = try self.run("select min(place), max(place) from wallet_values")
        guard let first = range.number(0, 0), let last = range.number(0, 1) else { return nil }
        return (first, last)
    }

    /// The database finds rows by indexes that it keeps itself.
    func requireEveryPlace(after cursor: UInt64?, limit: Int) {}
}
