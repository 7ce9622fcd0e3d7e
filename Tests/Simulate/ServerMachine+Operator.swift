@testable import Administration
internal import AuditLog
internal import Logging
internal import RemotePINServer
@testable internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// The operator's command and the portal, without their sockets.
extension ServerMachine {
    /// Revokes a wallet by the operator's command or on the portal.
    func revoke(_ wallet: WalletID, _ code: DeletionCode, _ way: Plan.Revocation) {
        guard let process = self.process, let running = self.running, let source = PeerSource(address: "192.0.2.1")
        else {
            return
        }
        self.run.scheduler.enter(process) {
            Task {
                do {
                    if way == .portal {
                        let outcome = await running.server.revoke(deletionCode: code.characters, typedAt: source)
                        guard case .done(let revocation) = outcome, revocation != .notRecognised else { return }
                    } else {
                        let actor = AuditActor(rawValue: "operator")
                        _ = try await Self.commands(of: running).recorded(RevokeWallets([wallet]), by: actor)
                    }
                    self.run.observer.revoked(wallet)
                } catch {
                    self.run.observer.note("operator", "is refused: \(type(of: error))")
                }
            }
        }
    }

    /// Revokes the solution.
    func revokeSolution() {
        self.command("revokes the solution") { service, actor in
            _ = try await service.recorded(RevokeSolution(), by: actor)
            self.run.observer.solutionRevoked()
        }
    }

    /// Restores the solution.
    func restoreSolution() {
        self.command("restores the solution") { service, actor in
            _ = try await service.recorded(RestoreSolution(), by: actor)
            self.run.observer.isSolutionRestored = true
        }
    }

    /// Puts a recovery code on the deny list.
    func revoke(_ code: RecoveryCode) {
        self.command("denies a recovery code") { service, actor in
            let reply = try await service.recorded(RevokeRecoveryCode(code), by: actor)
            for wallet in reply.wallets { self.run.observer.revoked(wallet) }
        }
    }

    /// Runs a command of the operator in the server's process.
    private func command(
        _ text: String,
        _ body: @escaping @Sendable (AdminService, AuditActor) async throws -> Void
    ) {
        guard let process = self.process, let running = self.running else { return }
        self.run.observer.note("operator", text)
        self.run.scheduler.enter(process) {
            Task {
                do {
                    try await body(Self.commands(of: running), AuditActor(rawValue: "operator"))
                } catch {
                    self.run.observer.note("operator", "is refused: \(type(of: error))")
                }
            }
        }
    }

    /// Starts to replace the shares of all wallets.
    func refreshShares() {
        guard let process = self.process, let running = self.running else { return }
        self.run.scheduler.enter(process) {
            Task {
                do {
                    self.run.observer.note("operator", "replaces the shares of all wallets")
                    let maintenance = Self.maintenance(of: running)
                    _ = try await maintenance.refreshShares()
                    await maintenance.refreshSharesIfDue()
                } catch {
                    self.run.observer.note("operator", "is refused: \(type(of: error))")
                }
            }
        }
    }

    private static func maintenance(of running: RunningServer) -> Maintenance {
        let (server, vault) = (running.server, running.vault)
        return Maintenance(
            Maintenance.Parts(
                store: running.store,
                lease: running.store.lease,
                vault: vault,
                clock: server.clock,
                audit: server.audit,
                epoch: 1,
                tokenLifetime: server.rules.tokenLifetime,
                sessionLifetime: server.rules.sessionLifetime,
                log: server.log
            )
        )
    }

    private static func commands(of running: RunningServer) -> AdminService {
        let (server, vault) = (running.server, running.vault)
        let operations = ServerOperations(
            version: "simulated",
            reload: { [] },
            logLevel: { SetLogLevel.Reply(level: $0 ?? .info, changed: false) },
            certificateExpiry: { nil },
            keyVersions: { (vault.versions, vault.activeVersion) },
            maintenance: Self.maintenance(of: running)
        )
        return AdminService(of: server, advance: nil, operations: operations)
    }
}
