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
        ]
    }
}
