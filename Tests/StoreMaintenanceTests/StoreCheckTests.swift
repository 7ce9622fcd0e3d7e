import AuditLog
import Glibc
import HostSystem
import SQLiteClient
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vault
import Vocabulary
import Wire

@testable import Administration
@testable import WalletStore

@Suite("The search for damage while wallets are served")
struct StoreCheckTests {
    @Test("an altered record is found, logged with its wallet and counted")
    func record() async throws {
        try await InProcessServer.run { server in
            let (wallet, _) = (try await server.wallet(), try await server.wallet())
            await server.maintenance.check()
            #expect(server.maintenance.damageCount == 0)
            try await server.store.alterRecord(of: wallet.walletID)
            await server.maintenance.check()
            #expect(server.maintenance.damageCount == 1)
            #expect(server.log.lines.contains("error an attempt record is damaged wallet=\(wallet.walletID)"))
        }
    }

    @Test("damaged wallets are listed and counted, also if they never opened a session, and a refused call names them")
    func listed() async throws {
        try await InProcessServer.run { server in
            let (fresh, opened) = (try await server.wallet(), try await server.wallet())
            let (revoked, sound) = (try await server.wallet(), try await server.wallet())
            _ = try await opened.openSession()
            try await server.give(RevokeWallets([revoked.walletID]))
            for wallet in [fresh, opened, revoked] { try await server.store.alterRecord(of: wallet.walletID) }
            let damaged = try await server.give(ListWallets(states: [.damaged], limit: 9)).wallets.map(\.wallet)
            #expect(damaged == [fresh.walletID, opened.walletID])
            let status = try await server.give(ShowStatus())
            #expect(status.wallets[.damaged] == 2 && status.wallets[.neverOpened] == 1)
            #expect(try await server.give(ShowWallet(fresh.walletID)).state == .damaged)
            await #expect(throws: (any Error).self) { try await fresh.openSession() }
            let line = "error refused"
            #expect(
                server.log.lines.contains { $0.hasPrefix(line) && $0.contains("wallet=\(fresh.walletID)") },
                "\(server.log.lines)"
            )
            // A wallet id that nobody has proven stands in no other line.
            _ = try await sound.openSession()
            #expect(!server.log.lines.contains { $0.contains("\(sound.walletID)") && $0.hasPrefix(line) })
        }
    }

    @Test("a row that does not decode is listed as damaged and hides no other wallet")
    func undecodableListed() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            try await server.store.alterRow("state")
            let listed = try await server.give(ListWallets(limit: 9)).wallets
            #expect(listed.map(\.wallet) == [wallet.walletID, other.walletID])
            #expect(listed.map(\.state) == [.damaged, .neverOpened])
        }
    }

    @Test("a damaged note of a key and a wrong key are distinguished by the values that the key opens")
    func damagedNotes() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            let now = server.clock.now()
            try await VaultHistory.check(server.vault, of: server.store, at: now)
            for table in ["record_key", "vault_versions"] {
                let other = TemporaryFolder()
                try KeyFileVault.create(at: other.file("key"))
                let right = try await server.store.alterCheck(in: table, to: [1, 2, 3, 4])
                let error = await #expect(throws: VaultMismatch.self) {
                    try await VaultHistory.check(server.vault, of: server.store, at: now)
                }
                guard case .damaged? = error else {
                    Issue.record("\(table): \(error as Any)")
                    continue
                }
                let wrong = await #expect(throws: VaultMismatch.self) {
                    try await VaultHistory.check(KeyFileVault(other.file("key")), of: server.store, at: now)
                }
                if table == "vault_versions" {
                    #expect(wrong == .otherKey(1, check: [1, 2, 3, 4].hex))
                }
                _ = try await server.store.alterCheck(in: table, to: right)
            }
            try await VaultHistory.check(server.vault, of: server.store, at: now)
        }
    }

    @Test("a wallet whose row does not decode is named")
    func undecodable() async throws {
        try await InProcessServer.run { server in
            let (wallet, _) = (try await server.wallet(), try await server.wallet())
            try await server.store.alterRow("state")
            await server.maintenance.check()
            #expect(server.maintenance.damageCount == 1)
            #expect(server.log.lines.contains("error an attempt record is damaged wallet=\(wallet.walletID)"))
        }
    }

    @Test("a row that cannot be read at all raises the alert")
    func unreadable() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            try await server.store.alterRow("id")
            await server.maintenance.check()
            #expect(server.maintenance.damageCount == 1)
            #expect(server.log.lines.contains { $0.hasPrefix("error the store cannot be read in full") })
        }
    }

    @Test("a damaged database is not backed up")
    func backup() async throws {
        try await InProcessServer.run { server in
            let (_, other) = (try await server.wallet(), try await server.wallet())
            // Its shares are destroyed, so the server copies the whole log into the file.
            try await server.give(RevokeWallets([other.walletID]))
            try await server.store.damageIndex()
            await #expect(throws: UnexpectedAnswer.self) { try await server.backup("one") }
            let failed = try await server.record().contains { entry in
                if case .failed(_, let reason) = entry.phase { return reason.contains("database is damaged") }
                return false
            }
            #expect(failed)
        }
    }

    @Test("a database with a table that another program made is not backed up, and the table is named")
    func otherTable() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            try await server.store.queue.perform { connection in
                try connection.db.execute("CREATE TABLE diary (entry TEXT)")
            }
            await #expect(throws: UnexpectedAnswer.self) { try await server.backup("one") }
            let failed = try await server.record().contains { entry in
                if case .failed(_, let reason) = entry.phase { return reason.contains("table diary is unknown") }
                return false
            }
            #expect(failed)
            let path = "\(server.folder.path)/one.backup"
            for name in [path, path + ".partial"] { #expect(!DurableFile.isNamed(name)) }
        }
    }
}

extension SQLiteWalletStore {
    /// Overwrites a column of the first wallet's row.
    fileprivate func alterRow(_ column: String) async throws {
        try await self.queue.perform { connection in
            let sql = "UPDATE wallets SET \(column) = x'0102' WHERE key = (SELECT min(key) FROM wallets)"
            try connection.db.execute(sql)
        }
    }

    /// Replaces a note of a key, and returns the earlier one.
    fileprivate func alterCheck(in table: String, to bytes: [UInt8]) async throws -> [UInt8] {
        try await self.queue.perform { connection in
            let read = try PreparedStatement("SELECT key_check FROM \(table)", on: connection.db)
            let old = try read.first { $0.bytes(0) } ?? nil
            try connection.db.execute("UPDATE \(table) SET key_check = x'\(bytes.hex)'")
            return old ?? []
        }
    }

    /// Gives an index a page of a table, as a misdirected write of the disk may, which changes no time of the file.
    fileprivate func damageIndex() async throws {
        let file = "\(self.folder)/wallets.db"
        var before = stat()
        try #require(unsafe stat(file, &before) == 0)
        let pages = try await self.queue.betweenBatches { connection -> [Int64] in
            do {
                // From now on, the store reads the page from the file.
                try connection.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                try connection.db.execute("PRAGMA shrink_memory")
                let sql = """
                    SELECT rootpage FROM sqlite_schema
                    WHERE name IN ('attempts', 'wallets_by_deletion_digest') ORDER BY name
                    """
                return try connection.db.run(sql).map { $0.numberIfAny(0) ?? 0 }
            } catch {
                return []
            }
        }
        try #require(pages.count == 2)
        let places = pages.map { (Int($0) - 1) * 4096 }
        let table = try AppendFile(reading: file).read(at: places[0], atMost: 4096)
        try RecordFile(opening: file).write(table, at: places[1])
        try #require(unsafe utimensat(AT_FDCWD, file, [before.st_atim, before.st_mtim], 0) == 0)
    }
}
