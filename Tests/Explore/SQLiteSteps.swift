internal import Foundation
internal import GRDB
internal import PINPolicy
internal import Secrets
internal import Vocabulary
@testable import WalletStore

/// The steps of `StoreConnection`, each in a transaction of an SQLite database in memory.
final class SQLiteSteps: StoreSteps {
    private let database: DatabaseQueue
    private let key = RecordKey(SecretBytes.random(count: 32))
    private let phone: Phone

    private static let tables = [
        "wallets", "attestations", "unopened", "attempts", "ended", "barred_hardware_keys", "next_shares",
        "recorded_blocks", "epochs", "last_sessions",
    ]

    init(_ phone: Phone) throws {
        self.phone = phone
        self.database = try DatabaseQueue(configuration: Schema.configuration())
        try self.database.inDatabase { db in
            try Schema.current.migrate(db, creating: true)
            try StoreConnection(db, key: self.key).claimIfEmpty()
        }
    }

    func registered(_ registration: NewRegistration) throws -> Contents {
        try self.change(.tables(Self.tables.map { _ in [] })) { _ = try registration.run(in: $0) }
    }

    func run(_ operation: Operation, on contents: Contents) throws -> (reply: Reply, contents: Contents, commits: Bool)
    {
        var reply = Reply.failed(.corrupt)
        let after = try self.change(contents) { store in
            do {
                switch operation {
                case .identity: reply = .identity(try store.identity(of: self.phone.walletID))
                case .beginSession(let session): reply = .session(try store.beginSession(session))
                case .judge(let attempt): reply = .judged(try store.step(attempt).outcome)
                case .report: reply = .report(try ReportOfWallet(self.phone.walletID).run(in: store)?.revocation)
                case .revoke(let step): reply = .revoked(try step.run(in: store))
                case .revokeWallets(let step): reply = .walletsRevoked(try step.run(in: store))
                }
            } catch let error as StoreError {
                reply = .failed(error)
            }
        }
        return (reply, after, true)
    }

    /// Restores these rows as a backup: opens an epoch, then repeats the ends and blocks that are on record.
    func restore(
        _ contents: Contents,
        rule: EpochRule,
        at now: Timestamp,
        isEnded: Bool,
        isBlocked: Bool
    ) throws -> Contents {
        try self.change(contents) { store in
            let number = store.facts.charges.count + 2
            try OpenEpochs([StoredEpoch(number: number, rule: rule, openedAt: now, mac: [])]).run(in: store)
            let wallets = [self.phone.walletID]
            if isEnded { _ = try EndWallets(wallets, as: .byDeletionCode, at: now).run(in: store) }
            if isBlocked { _ = try BlockPermanently(wallets).run(in: store) }
        }
    }

    func facts(in contents: Contents) throws -> Facts {
        var facts: Facts?
        _ = try self.change(contents) { store in
            guard let found = try store.attempted(self.phone.walletID)?.wallet, let attempts = found.attempts else {
                throw StoreError.corrupt
            }
            facts = Facts(
                record: attempts.record,
                isRevoked: found.row.state.revocation != nil,
                hasSecondPIN: found.row.pinKeyID == self.phone.secondID,
                hasShare: found.row.unlockShare.contains { $0 != 0 }
            )
        }
        guard let facts else { throw StoreError.corrupt }
        return facts
    }

    private func change(_ contents: Contents, _ body: (StoreConnection) throws -> Void) throws -> Contents {
        guard case .tables(let before) = contents else { preconditionFailure("the rows are SQLite's") }
        return try self.database.inDatabase { db in
            for (table, rows) in zip(Self.tables, before) {
                try db.execute(sql: "DELETE FROM \(table)")
                for row in rows {
                    let places = row.map { _ in "?" }.joined(separator: ", ")
                    try db.execute(sql: "INSERT INTO \(table) VALUES (\(places))", arguments: StatementArguments(row))
                }
            }
            let store = try StoreConnection(db, key: self.key)
            try db.inTransaction(.immediate) {
                try body(store)
                return .commit
            }
            var tables = try Self.tables.map { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { Array($0.databaseValues) }
            }
            try self.resetCounters(in: &tables)
            return .tables(tables)
        }
    }

    /// Resets the number of writes of a row and the number of judged attempts, on which no decision depends, so that
    /// histories with the same future have the same rows.
    private func resetCounters(in tables: inout [[[DatabaseValue]]]) throws {
        for index in tables[0].indices {
            guard let bytes = Data.fromDatabaseValue(tables[0][index][1]),
                var state = WalletState(decoding: [UInt8](bytes))
            else { throw StoreError.corrupt }
            state.writes = 0
            tables[0][index][1] = Data(state.encoded()).databaseValue
        }
        for index in tables[3].indices {
            guard let bytes = Data.fromDatabaseValue(tables[3][index][1]),
                var attempts = KeptAttempts(decoding: [UInt8](bytes), of: self.phone.walletID, by: self.key)
            else { throw StoreError.corrupt }
            attempts.number = 0
            tables[3][index][1] = Data(attempts.encoded(of: self.phone.walletID, by: self.key)).databaseValue
        }
    }
}
