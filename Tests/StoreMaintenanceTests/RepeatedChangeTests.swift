import Administration
import HostSystem
import PINPolicy
import SQLiteClient
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vault
import Vocabulary
import Wire

@testable import AuditLog
@testable import WalletStore

@Suite("Changes on record that another program undid in the database")
struct RepeatedChangeTests {
    private static let code = Array("denied".utf8)
    private static let tables = ["wallets", "attempts", "denied_recovery_codes", "solution"]

    private static func run(_ statements: [String], in server: InProcessServer) async throws {
        try await server.store.queue.perform { connection in
            for sql in statements { try connection.db.execute(sql) }
        }
    }

    /// Keeps the rows as they are now.
    private static func keepRows(of server: InProcessServer) async throws {
        try await Self.run(tables.map { "CREATE TEMP TABLE older_\($0) AS SELECT * FROM \($0)" }, in: server)
    }

    /// Puts the kept rows back.
    ///
    /// The rows of ended wallets stay in the index of these, unless `deletesEnds` is set.
    private static func putRowsBack(of server: InProcessServer, deletesEnds: Bool) async throws {
        var statements = Self.tables.flatMap {
            ["DELETE FROM \($0)", "INSERT INTO \($0) SELECT * FROM older_\($0)"]
        }
        if deletesEnds { statements.append("DELETE FROM ended") }
        try await Self.run(statements, in: server)
    }

    /// Stops the server and does the part of a start that repeats changes; returns these.
    ///
    /// - Parameter mark: The entry that the store names.
    static func start(
        _ server: InProcessServer,
        after mark: AuditMark?,
        restored epoch: Int? = nil,
        _ body: (SQLiteWalletStore) async throws -> Void = { _ in }
    ) async throws -> [LostChange] {
        await server.stop()
        return try await server.opened(epoch == nil ? "data" : "restored") { store in
            var check = StartCheck(after: mark)
            try await check.readSetAside(besideAuditLog: server.auditPath, vault: server.vault)
            var parts = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock)
            parts.epoch = epoch ?? parts.epoch
            let audit = try await AuditLog.open(parts) { check.read($0) }
            try await check.check(store)
            try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
            let lost = try await check.repeatLost(in: store, audit)
            await audit.close()
            try await body(store)
            return lost
        }
    }

    @Test(
        "each is carried out again at the start, with entries; the next start finds nothing to do",
        arguments: StartCheckTests.Change.allCases.filter { $0 != .allowance },
        [false, true]
    )
    func repeated(change: StartCheckTests.Change, deletesEnds: Bool) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let id = wallet.walletID
            let code = try RecoveryCode(Self.code).orThrow()
            let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex)).orThrow()
            try await Self.keepRows(of: server)
            let event: AuditEvent
            switch change {
            case .revocation, .allowance:
                try await server.give(RevokeWallets([id]))
                event = .revokeWallets
            case .deletionCode:
                let portal = try await server.endpoint.connect()
                _ = await portal.answer(.revokeWithCode(try wallet.deletionCode.orThrow().characters))
                event = .deletionCode
            case .wipe:
                let session = try await wallet.openSession()
                #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))
                event = .wipe
            case .block:
                for _ in 0..<4 {
                    for _ in 0..<4 { _ = try await wallet.openSession().check("000000") }
                    server.clock.advance(by: .seconds(86_400))
                }
                event = .blockedPermanently
            case .denial:
                try await server.give(RevokeRecoveryCode(code))
                event = .revokeRecoveryCode
            case .solution:
                try await server.give(RevokeSolution())
                event = .revokeSolution
            }
            let at = try await server.record().last { $0.event == event && $0.phase != .begun }?.at
            try await Self.putRowsBack(of: server, deletesEnds: deletesEnds)
            server.clock.advance(by: .seconds(60))
            let mark = server.audit.newest
            let count = try await server.record().count
            let lost = try await Self.start(server, after: mark) { store in
                let report = try await store.report(of: id).orThrow()
                switch change {
                case .revocation, .allowance, .deletionCode, .wipe:
                    #expect(report.revocation != nil && report.revokedAt == at)
                    let values = try await store.sealedValues(after: nil, limit: 9)
                    #expect(values.map { $0.values.shares == nil } == [true])
                case .block: #expect(report.attempts?.isBlockedPermanently == true)
                case .denial: #expect(try await store.denied(mac) == at)
                case .solution: #expect(report.isSolutionRevoked)
                }
            }
            #expect(lost.map(\.event) == [event] && lost.first?.at == at, "\(lost)")
            let entries = try await server.record().dropFirst(count)
            #expect(entries.map(\.event) == Array(repeating: event, count: event == .blockedPermanently ? 1 : 2))
            #expect(entries.allSatisfy { $0.actor == .server && $0.detail?.contains("on record as done") == true })
            #expect(entries.last?.phase.name == "done")
            #expect(try await Self.start(server, after: mark) == [])
        }
    }

    @Test("a change that only a log set aside by a restore records is repeated too, unless the new log reverses it")
    func setAside() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let codes = try [Self.code, Array("allowed".utf8)].map { try RecoveryCode($0).orThrow() }
            var macs: [RecoveryCodeMAC] = []
            for code in codes {
                let mac = server.vault.mac(code.bytes, for: .recoveryCodeIndex)
                macs.append(try RecoveryCodeMAC(mac).orThrow())
            }
            try await Self.keepRows(of: server)
            try await server.give(RevokeWallets([wallet.walletID]))
            for code in codes { try await server.give(RevokeRecoveryCode(code)) }
            let backup = try await server.backup("later")
            for _ in 0..<2 { try await server.give(ListFlags()) }
            try await Self.putRowsBack(of: server, deletesEnds: true)
            await server.stop()
            var bytes = try DurableFile.read(server.auditPath, atMost: 1 << 20)
            bytes[bytes.count - 120] ^= 1
            try DurableFile.write(bytes, to: server.auditPath)
            try await server.restore(backup, into: "restored")
            #expect(DurableFile.exists("\(server.auditPath).before-epoch-2"))
            try await server.opened("restored") { store in
                try await store.queue.perform { connection in
                    var statements = ["ATTACH '\(server.folder.path)/data/wallets.db' AS older", "DELETE FROM ended"]
                    for table in Self.tables {
                        statements += ["DELETE FROM \(table)", "INSERT INTO \(table) SELECT * FROM older.\(table)"]
                    }
                    for sql in statements { try connection.db.execute(sql) }
                }
            }
            let parts = AuditLog.Parts(path: server.auditPath, vault: server.vault, clock: server.clock, epoch: 2)
            let log = try await AuditLog.open(parts)
            let subject = AuditSubject(recoveryCode: macs[1])
            let begun = try await log.append(.removeDenied, by: .server, on: subject, .begun).number
            try await log.append(.removeDenied, by: .server, on: subject, .done(of: begun, result: ""))
            await log.close()
            let lost = try await Self.start(server, after: log.newest, restored: 2) { store in
                let report = try await store.report(of: wallet.walletID)
                #expect(report?.revocation != nil)
                let denied = try await store.denied(after: nil, limit: 9).entries.map(\.mac)
                #expect(denied == [macs[0]])
            }
            #expect(lost.map(\.event.rawValue).sorted() == ["revoke recovery-code", "revoke wallet"])
        }
    }

    @Test("a wallet that a denial ended is ended again even if the code was removed from the deny list since")
    func linked() async throws {
        try await InProcessServer.run { server in
            let code = try RecoveryCode(Self.code).orThrow()
            let wallet = try await server.wallet()
            _ = try await wallet.openSession().answer(.linkRecoveryCode(code), pin: "135790")
            try await Self.keepRows(of: server)
            try await server.give(RevokeRecoveryCode(code))
            try await server.give(RemoveDenied(.code(code)))
            try await Self.putRowsBack(of: server, deletesEnds: true)
            let lost = try await Self.start(server, after: server.audit.newest) { store in
                let report = try await store.report(of: wallet.walletID)
                #expect(report?.revocation == Revocation(reason: .recoveryCode, mayRegisterAnew: false))
            }
            #expect(lost.map(\.event) == [.deniedLink])
        }
    }

    @Test(
        "an update policy on record is in force at the start, with its time: a removed row, another one, a cleared one",
        arguments: [
            "DELETE FROM operator_values",
            "UPDATE operator_values SET value = '- - ok'",
            "INSERT INTO operator_values (name, value, set_at) VALUES ('update-policy ios', '- - ok', 1)",
        ]
    )
    func updatePolicy(change: String) async throws {
        try await InProcessServer.run { server in
            let rules = [
                try UpdateRule(below: AppVersion("1.4").orThrow(), .block(updateAvailable: true)).orThrow(),
                try UpdateRule(below: AppVersion("2").orThrow(), .notify).orThrow(),
            ]
            try await server.give(SetUpdatePolicy([.android, .iOS], to: rules))
            try await server.give(ClearUpdatePolicy([.iOS]))
            let before = try await server.store.operatorValues().values
            #expect(Set(before.keys) == ["update-policy android"])
            try await Self.run([change], in: server)
            server.clock.advance(by: .seconds(60))
            let mark = server.audit.newest
            let lost = try await Self.start(server, after: nil) { store in
                let after = try await store.operatorValues().values
                #expect(after == before)
            }
            let isOfIOS = change.hasPrefix("INSERT")
            #expect(lost.map(\.event.rawValue) == [isOfIOS ? "update-policy clear" : "update-policy set"])
            #expect(try await server.record().suffix(2).map(\.phase.name) == ["begun", "done"])
            #expect(try await Self.start(server, after: mark) == [])
        }
    }

    @Test("an update policy is repeated only if its last change on record is known, and no backup was restored since")
    func uncertainPolicy() async throws {
        for outcome in Outcome.allCases {
            try await InProcessServer.run { server in
                let rule = try UpdateRule(below: AppVersion("1.4").orThrow(), .block(updateAvailable: true)).orThrow()
                try await server.give(SetUpdatePolicy([.android], to: [rule]))
                let audit = server.audit
                let event = outcome == .done ? AuditEvent.restore : .clearUpdatePolicy
                let detail = outcome == .done ? "" : "android"
                let begun = try await audit.append(event, by: .server, .begun, detail: detail).number
                switch outcome {
                case .done: try await audit.append(event, by: .server, .done(of: begun, result: ""), detail: detail)
                case .failed: try await audit.append(event, by: .server, .failed(of: begun, reason: ""))
                case .unclear: try await audit.append(event, by: .server, .unclear(of: begun, reason: ""))
                }
                try await Self.run(["DELETE FROM operator_values"], in: server)
                let lost = try await Self.start(server, after: audit.newest)
                #expect(lost.map(\.event) == (outcome == .failed ? [.setUpdatePolicy] : []), "\(outcome)")
            }
        }
    }

    /// The outcome of a reversal that is on record as begun.
    enum Outcome: CaseIterable {
        case done, failed, unclear
    }

    @Test("a denial is repeated only if its reversal failed; it stays reversed if the outcome is unclear")
    func reversed() async throws {
        for outcome in Outcome.allCases {
            try await InProcessServer.run { server in
                let code = try RecoveryCode(Self.code).orThrow()
                let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex)).orThrow()
                let audit = server.audit
                try await server.give(RevokeRecoveryCode(code))
                _ = try await server.store.removeDenied(mac)
                for (event, subject) in [
                    (AuditEvent.removeDenied, AuditSubject(recoveryCode: mac)), (.restoreSolution, AuditSubject()),
                ] {
                    let begun = try await audit.append(event, by: .server, on: subject, .begun).number
                    switch outcome {
                    case .done: try await audit.append(event, by: .server, on: subject, .done(of: begun, result: ""))
                    case .failed: try await audit.append(event, by: .server, .failed(of: begun, reason: ""))
                    case .unclear: try await audit.append(event, by: .server, .unclear(of: begun, reason: ""))
                    }
                }
                let lost = try await Self.start(server, after: audit.newest)
                #expect(lost.map(\.event) == (outcome == .failed ? [.revokeRecoveryCode] : []), "\(outcome)")
            }
        }
    }

    @Test("an end that was begun, and whose outcome is unclear, is not carried out because of the entry alone")
    func unclear() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let subject = AuditSubject(wallets: [wallet.walletID])
            for phase in [AuditPhase.failed(of: nil, reason: ""), .unclear(of: 1, reason: "")] {
                try await server.audit.append(.revokeWallets, by: .server, on: subject, phase)
            }
            let begun = try await server.audit.append(.revokeWallets, by: .server, on: subject, .begun).number
            let unclear = AuditPhase.unclear(of: begun, reason: "")
            try await server.audit.append(.revokeWallets, by: .server, on: subject, unclear)
            #expect(try await Self.start(server, after: server.audit.newest) == [])
        }
    }

    @Test("a store that holds wallets needs a log with a start, unless it names an entry of one")
    func withoutLog() async throws {
        try await InProcessServer.run { server in
            try await StartCheck(after: nil).requireLog(of: server.store)
            _ = try await server.wallet()
            try await StartCheck(after: server.audit.newest).requireLog(of: server.store)
            var check = StartCheck(after: nil)
            await #expect(throws: OlderStore.withoutLog) { try await check.requireLog(of: server.store) }
            try await server.audit.append(.started, by: .server, .done(of: nil, result: ""))
            _ = try await AuditReader(server.auditPath, vault: server.vault).verify { check.read($0) }
            try await check.requireLog(of: server.store)
        }
    }
}
