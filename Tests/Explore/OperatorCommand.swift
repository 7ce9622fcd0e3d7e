@testable import Administration
internal import AuditLog
internal import EmbeddedServer
internal import HostSystem
internal import Logging
internal import RemotePINServer
internal import Secrets
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The operator's command that revokes a wallet, without the socket and the users' roles.
final class OperatorCommand {
    private let maintenance: Maintenance
    private let vault: KeyFileVault

    /// - Parameter folder: The folder of the store for backups and other maintenance, which the command does not use.
    init(vault: KeyFileVault, clock: any WallClock, audit: AuditLog, folder: String) throws {
        self.vault = vault
        let store = try SQLiteWalletStore.open(
            folder: folder,
            key: RecordKey(SecretBytes.random(count: 32)),
            creating: true
        )
        self.maintenance = Maintenance(
            Maintenance.Parts(
                store: store,
                vault: vault,
                clock: clock,
                audit: audit,
                epoch: 1,
                tokenLifetime: .seconds(300),
                sessionLifetime: .seconds(900),
                log: Logger(label: "explorer") { _ in SwiftLogNoOpLogHandler() }
            )
        )
    }

    /// Starts the command on a server.
    ///
    /// - Parameter result: Receives the reply.
    func revoke(_ wallet: WalletID, at server: RemotePINServer, _ queue: JobQueue, _ result: Box<Answer?>) {
        let vault = self.vault
        let operations = ServerOperations(
            version: "explorer",
            reload: { [] },
            logLevel: { SetLogLevel.Reply(level: $0 ?? .info, changed: false) },
            certificateExpiry: { nil },
            keyVersions: { (vault.versions, vault.activeVersion) },
            maintenance: self.maintenance
        )
        let service = AdminService(of: server, advance: nil, operations: operations)
        Task(executorPreference: queue) {
            do {
                _ = try await service.recorded(RevokeWallets([wallet]), by: AuditActor(rawValue: "operator"))
                result.value = .revocationConfirmed
            } catch {
                result.value = .refused("\(error)")
            }
        }
    }
}
