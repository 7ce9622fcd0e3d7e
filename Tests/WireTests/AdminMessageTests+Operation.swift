import Testing
import Vocabulary
import Wire

// What is told of the server itself and of all wallets.
extension AdminMessageTests {
    static func operations() throws -> [AdminResult] {
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        var status = StatusReport()
        status.keyVersions = [1]
        let empty = status
        status.version = String(repeating: "9", count: 64)
        (status.now, status.startedAt, status.uptime) = (time, time, .milliseconds(7))
        (status.connections, status.sessions) = (3, 2)
        for (index, condition) in WalletCondition.allCases.enumerated() { status.wallets[condition] = index + 1 }
        status.pins = StatusReport.PINCounts(valid: 1, wrong: 2, blocked: 3)
        status.commits = StatusReport.LatencyReport(count: 4, median: .microseconds(5), p99: .microseconds(1_000_006))
        status.keyVersions = Array(1...1024)
        status.activeKeyVersion = 1024
        (status.certificateExpiresAt, status.statusListFetchedAt, status.isStatusListStale) = (time, time, true)
        (status.auditNumber, status.auditMAC) = (.max, String(repeating: "0", count: 80))
        (status.isSolutionRevoked, status.logLevel) = (true, .debug)
        (status.epoch, status.reseal) = (Int(UInt32.max), ResealReport(version: 2))
        let wallets = self.ids(AdminCommand.mostListed).enumerated().map { index, wallet in
            ListedWallet(
                walletID: wallet,
                condition: WalletCondition.allCases[index % 5],
                platform: index % 3 == 0 ? nil : Platform.allCases[index % 2],
                registeredAt: Timestamp(milliseconds: .max),
                lastSession: index % 2 == 0 ? nil : time,
                failures: 65_535
            )
        }
        let version = try #require(AppVersion("999999.999999.999999.999999"))
        let sessions = self.ids(AdminCommand.mostListed).map { wallet in
            OpenSessionReport(
                connection: .max,
                walletID: wallet,
                source: "ffff:ffff:ffff:ffff::/64",
                since: Timestamp(milliseconds: .max),
                instructions: Int(UInt32.max),
                appVersion: version,
                platform: .iOS
            )
        }
        let parts = [
            ReloadedPart("certificate"), ReloadedPart("vault keys", problem: String(repeating: "é", count: 256)),
        ]
        return [
            .status(empty), .status(status), .walletPage(WalletPage(wallets: [], next: nil)),
            .walletPage(WalletPage(wallets: wallets, next: .max)),
            .sessionPage(SessionPage(sessions: sessions, hasMore: true)),
            .sessionPage(SessionPage(sessions: [], hasMore: false)), .reloaded(parts),
            .logLevel(.error, changed: true), .logLevel(.debug, changed: false),
        ] + self.upkeep()
    }

    /// Backups and the vault's keys.
    private static func upkeep() -> [AdminResult] {
        var backup = BackupReport(path: "/" + String(repeating: "b", count: AdminCommand.longestPath - 1))
        (backup.pagesCopied, backup.pages, backup.byteCount) = (3, 4, Int(Int64.max))
        (backup.state, backup.takenAt) = (.done, Timestamp(milliseconds: 1_700_000_000_123))
        var failed = BackupReport(path: "/b")
        (failed.state, failed.problem) = (.failed, String(repeating: "é", count: 256))
        var reseal = ResealReport(version: .max)
        (reseal.state, reseal.walletsDone, reseal.wallets, reseal.problem) = (.failed, 5, 6, "no")
        let versions = (1...64).map { number in
            VaultKeyVersion(
                version: UInt32(number),
                isActive: number == 64,
                values: number,
                activeSince: number == 7 ? nil : Timestamp(milliseconds: .max),
                isRetirable: number < 3
            )
        }
        return [
            .upkeep(UpkeepReport(epoch: 1)), .upkeep(UpkeepReport(epoch: 2, backup: backup, reseal: reseal)),
            .upkeep(UpkeepReport(epoch: 3, backup: failed)), .vaultKeys(versions), .vaultKeys([versions[0]]),
        ]
    }
}
