import AuditLog
import HostSystem
import PreparedSQL
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vocabulary

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
            _ = try await server.wallet()
            try await server.store.damageIndex()
            await #expect(throws: UnexpectedAnswer.self) { try await server.backup("one") }
            let failed = try await server.record().contains { entry in
                if case .failed(_, let reason) = entry.phase { return reason.contains("database is damaged") }
                return false
            }
            #expect(failed)
        }
    }
}

extension SQLiteWalletStore {
    /// Overwrites a column of the first wallet's row.
    fileprivate func alterRow(_ column: String) async throws {
        try await self.queue.perform { connection in
            let sql = "UPDATE wallets SET \(column) = x'0102' WHERE key = (SELECT min(key) FROM wallets)"
            try PreparedStatement(sql, on: connection.db).run()
        }
    }

    /// Gives an index a page of a table, as a misdirected write may.
    fileprivate func damageIndex() async throws {
        let pages = try await self.queue.betweenBatches { connection -> [Int64] in
            do {
                // From now on, the store reads the page from the file.
                try connection.truncateLog()
                try PreparedStatement("PRAGMA shrink_memory", on: connection.db).run()
                let sql = """
                    SELECT rootpage FROM sqlite_schema
                    WHERE name IN ('attempts', 'wallets_by_deletion_digest') ORDER BY name
                    """
                return try PreparedStatement(sql, on: connection.db).all { $0.number(0) ?? 0 }
            } catch {
                return []
            }
        }
        try #require(pages.count == 2)
        let (file, places) = ("\(self.folder)/wallets.db", pages.map { (Int($0) - 1) * 4096 })
        let table = try AppendFile(reading: file).read(at: places[0], atMost: 4096)
        try RecordFile(opening: file).write(table, at: places[1])
    }
}
