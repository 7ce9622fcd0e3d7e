import AdminProtocol
import AuditLog
import Foundation
import Synchronization
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

@testable import Administration

@Suite("The audit entries of commands and revocations")
struct AuditTests {
    private static let actor = AuditActor(rawValue: "uid 4711")
    private static let code: RecoveryCode = "NL-999-SECRET"

    /// Every command with its event, so that a new command must be added here.
    private static func calls(_ wallet: WalletID) throws -> [(call: any AdminCall, name: String, changes: Bool)] {
        let code = self.code
        return [
            (AdvanceClock(by: .seconds(1)), "clock advance", true), (ShowWallet(wallet), "wallet show", false),
            (RevokeWallets([wallet]), "revoke wallet", true),
            (RevokeRecoveryCode(code), "revoke recovery-code", true), (RevokeSolution(), "revoke solution", true),
            (RestoreSolution(), "restore solution", true), (ListDenied(limit: 1), "deny-list list", false),
            (ShowDenied(.code(code)), "deny-list show", false), (RemoveDenied(.code(code)), "deny-list remove", true),
            (ListFlags(), "flags list", false),
            (SetFlag(.safeBiometricUnlock, to: .percentage(7)), "flags set", true),
            (ShowUpdatePolicy(), "update-policy show", false),
            (SetUpdatePolicy([.iOS], to: []), "update-policy set", true),
            (ClearUpdatePolicy([.iOS]), "update-policy clear", true), (ShowStatus(), "status", false),
            (ListWallets(limit: 5), "wallet list", false), (ListSessions(limit: 5), "sessions", false),
            (Reload(), "reload", true), (SetLogLevel(.debug), "log-level", true),
            (SetLogLevel(nil), "log-level", false), (ShowMaintenance(), "maintenance show", false),
            (ShowVaultKeys(), "vault status", false), (RotateVault(), "vault rotate", true),
            (RefreshShares(), "vault refresh-shares", true),
        ]
    }

    @Test("a list that is read in pages has one entry; a page that follows none of them has its own")
    func pages() async throws {
        try await InProcessServer.run { server in
            for _ in 0..<3 { _ = try await server.wallet() }
            func entries(_ name: String) async throws -> Int {
                try await server.record().count { $0.event.rawValue == name }
            }
            var call = ListWallets(limit: 1)
            var places: [UInt64] = []
            while let next = try await server.give(call).next {
                places.append(next)
                call.after = next
            }
            #expect(places.count == 3)
            #expect(try await entries("wallet list") == 1)
            // Each was expected once.
            try await server.give(ListWallets(after: places[0], limit: 1))
            #expect(try await entries("wallet list") == 2)
            // The page after that one is expected now, but not that of another list.
            try await server.give(ListWallets(states: [.open], after: places[1], limit: 1))
            #expect(try await entries("wallet list") == 3)
            try await server.give(ListWallets(after: places[1], limit: 2))
            #expect(try await entries("wallet list") == 3)
            // A page of sessions that no page precedes.
            try await server.give(ListSessions(after: 7))
            #expect(try await entries("sessions") == 1)
        }
    }

    @Test("every command is on record with its operator and its result, and a changing one also before it is done")
    func commands() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let calls = try Self.calls(wallet.walletID)
            // These need a folder and a second key version; BackupTests and RotationTests look at their entries.
            let tested = calls.map(\.name) + ["backup", "vault retire"]
            #expect(Set(tested) == Set(AdminCalls.all.map { $0.name }))
            for (call, name, changes) in calls {
                let before = try await server.record().count
                if let failure = await server.refusal(of: call) { throw failure }
                // The server's entries may be among them: a rotation records that all values are
                // resealed.
                let numbered = try await server.record().enumerated().dropFirst(before)
                    .filter { $0.element.actor != .server }
                let entries = numbered.map(\.element)
                #expect(entries.map(\.event.rawValue) == Array(repeating: name, count: changes ? 2 : 1))
                #expect(AdminCalls.auditEvents.contains { $0.rawValue == name }, "\(name) cannot be looked for")
                #expect(entries.allSatisfy { $0.actor == Self.actor && $0.epoch == 1 })
                guard case .done(let of, _) = entries.last?.phase else {
                    Issue.record("\(name) was not done")
                    continue
                }
                #expect(of == (changes ? numbered.first.map { UInt64($0.offset + 1) } : nil), "\(name)")
                if changes { #expect(entries.first?.phase == .begun) }
            }
            let unknown = await server.refusal(of: ShowWallet(try WalletID([UInt8](repeating: 9, count: 16)).orThrow()))
            let last = try await server.record().last { $0.actor != .server }
            guard unknown != nil, case .failed(of: nil, _) = last?.phase else {
                Issue.record("not on record as failed")
                return
            }
            let file = try String(contentsOfFile: "\(server.folder.path)/audit.log", encoding: .utf8)
            #expect(!file.contains("NL-999-SECRET"))
            #expect(file.contains("safe-biometric-unlock percentage 7") && file.contains("\(wallet.walletID)"))
        }
    }

    @Test("repeated wipes, deletion codes and links to denied codes are on record once")
    func revocations() async throws {
        try await InProcessServer.run { server in
            let (wiped, deleted) = (try await server.wallet(), try await server.wallet())
            let linked = try await server.wallet()
            let code = Self.code
            try await server.give(RevokeRecoveryCode(code))
            let before = try await server.record().count
            let text = try deleted.deletionCode.orThrow().characters
            for _ in 0..<3 {
                #expect(await (try wiped.openSession()).connection.answer(.reportWipe) == .other("reportWipe"))
                let portal = try await server.endpoint.connect()
                #expect(await portal.answer(.revokeWithCode(text)) == .other("revoked"))
                #expect(await portal.answer(.revokeWithCode("0000-0000-0000-0000-00")) != .other("revoked"))
                _ = try await linked.openSession().answer(.linkRecoveryCode(Self.code), pin: "135790")
            }
            let entries = try await server.record().dropFirst(before)
            let told = entries.map { "\($0.actor.rawValue): \($0.event.rawValue) \($0.subject.wallets)" }
            let wanted = [
                "wallet: wipe [\(wiped.walletID)]", "deletion code: deletion code [\(deleted.walletID)]",
                "wallet: link to a denied recovery code [\(linked.walletID)]",
            ]
            #expect(told == wanted.flatMap { [$0, $0] })
            #expect(entries.filter { $0.phase == .begun }.count == 3)
            let file = try String(contentsOfFile: "\(server.folder.path)/audit.log", encoding: .utf8)
            #expect(!file.contains(text) && !file.contains("NL-999-SECRET"))
            #expect(!server.log.lines.contains { $0.contains(text) || $0.contains("NL-999-SECRET") })
        }
    }

    @Test("every committed revocation is on record at every step: a crash between any two loses none")
    func order() async throws {
        let look = Mutex<(@Sendable (GatedStore.Moment) async -> Void)?>(nil)
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(store: store, gate: Gate()) { (moment: GatedStore.Moment) throws(StoreError) in
                await look.withLock { $0 }?(moment)
            }
        }
        try await InProcessServer.run(options) { server in
            let seen = Mutex<[String]>([])
            // The state that a crash at this moment would leave on the disk.
            look.withLock { look in
                look = { moment in
                    let newest = try? await server.record().last
                    let text = "\(moment) \(newest?.event.rawValue ?? "?") \(newest?.phase ?? .done(of: 0, result: ""))"
                    seen.withLock { $0.append(text) }
                }
            }
            let (named, coded, wiped) = (
                try await server.wallet(), try await server.wallet(), try await server.wallet()
            )
            let linked = try await server.wallet()
            let code = Self.code
            try await server.give(RevokeWallets([named.walletID]))
            try await server.give(RevokeRecoveryCode(code))
            let text = try coded.deletionCode.orThrow().characters
            #expect(await (try server.endpoint.connect()).answer(.revokeWithCode(text)) == .other("revoked"))
            #expect(await (try wiped.openSession()).connection.answer(.reportWipe) == .other("reportWipe"))
            _ = try await linked.openSession().answer(.linkRecoveryCode(Self.code), pin: "135790")
            try await server.give(RevokeSolution())
            let names = [
                "revoke wallet", "revoke recovery-code", "deletion code", "wipe", "link to a denied recovery code",
                "revoke solution",
            ]
            #expect(seen.withLock { $0 } == names.flatMap { ["beforeCommit \($0) begun", "afterCommit \($0) begun"] })
            look.withLock { $0 = nil }
        }
    }

    @Test("a change that the audit log rejects is not done and not reported")
    func refused() async throws {
        try await InProcessServer.run { server in
            let (wallet, linked) = (try await server.wallet(), try await server.wallet())
            let session = try await wallet.openSession()
            await server.audit.close()
            for (call, name, _) in try Self.calls(wallet.walletID) where name != "clock advance" {
                let failure = await server.refusal(of: call)
                #expect(failure?.kind == .unavailable, "\(name)")
                #expect(failure?.message.contains("audit log") == true, "\(name)")
            }
            #expect(await session.connection.answer(.reportWipe).isUnavailable)
            let text = try wallet.deletionCode.orThrow().characters
            #expect(await (try server.endpoint.connect()).answer(.revokeWithCode(text)).isUnavailable)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(try await server.store.denied(after: nil, limit: 9).entries.isEmpty)
            #expect(try await !server.store.isSolutionRevoked())
            #expect(try await server.store.operatorValues().values.isEmpty)
            // Calls that revoke nothing continue.
            let answer = try await linked.openSession().answer(.linkRecoveryCode("NL-7"), pin: "135790")
            #expect(answer == .recoveryCodeLinked)
        }
    }

    @Test("if the store does not report an outcome, the record does not claim a failure")
    func unclear() async throws {
        let fails = Mutex(false)
        try await InProcessServer.run(.failing(with: .unavailable, at: .afterCommit) { fails.withLock { $0 } }) {
            server in
            let (first, second) = (try await server.wallet(), try await server.wallet())
            let session = try await second.openSession()
            fails.withLock { $0 = true }
            #expect(await server.refusal(of: RevokeWallets([first.walletID])) != nil)
            #expect(await session.connection.answer(.reportWipe).isUnavailable)
            let phases = try await server.record().map(\.phase).suffix(3)
            guard case .unclear(of: 2, _) = phases[phases.startIndex + 1], phases.last == .begun else {
                Issue.record("\(phases)")
                return
            }
            // The repeated command completes.
            fails.withLock { $0 = false }
            let again = try await server.give(RevokeWallets([first.walletID]))
            #expect(again == RevokeWallets.Reply(revoked: 0, alreadyRevoked: 1))
        }
    }

    @Test("wallets that a command ended while the store's log could not be emptied are reported at once and only once")
    func notErased() async throws {
        let fails = Mutex(true)
        try await InProcessServer.run(.failing(with: .notErased, at: .afterCommit) { fails.withLock { $0 } }) {
            server in
            let wallet = try await server.wallet()
            let linked = try await server.wallet()
            _ = try await linked.openSession().answer(.linkRecoveryCode(Self.code), pin: "135790")
            let session = try await wallet.openSession()
            let calls: [(any AdminCall, String)] = [
                (RevokeWallets([wallet.walletID]), "wallet revoked by an operator"),
                (RevokeRecoveryCode(Self.code), "wallet revoked by its recovery code"),
            ]
            for (call, line) in calls {
                let failure = await server.refusal(of: call)
                #expect(failure?.kind == .unavailable && failure?.message.contains("It is done") == true)
                #expect(server.log.lines.count { $0.contains(line) } == 1)
            }
            #expect(try await session.check("135790") != wallet.unlockShare.asValid)
            fails.withLock { $0 = false }
            for (call, line) in calls {
                #expect(await server.refusal(of: call) == nil)
                #expect(server.log.lines.count { $0.contains(line) } == 1)
            }
        }
    }
}

extension VerdictSummary {
    fileprivate var isUnavailable: Bool {
        if case .refused(.unavailable) = self { true } else { false }
    }
}
