internal import ArgumentParser
internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Lab
internal import ServerSettings
internal import Vault
internal import Vocabulary

/// Which server is meant where it does not have to run.
struct StoppedServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A lab's folder.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp("The server's configuration.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    func validate() throws {
        guard self.lab == nil || self.config == nil else { throw ValidationError("Name one of --lab and --config.") }
    }

    func loaded() throws -> LoadedSettings { try ConfigurationOptions.settings(of: self.lab, config: self.config) }

    func server() throws -> StoppedServer { try StoppedServer(self.loaded()) }
}

/// What a command needs of a server that does not run: its settings, its vault and its clock.
struct StoppedServer {
    let settings: ServerSettings
    let vault: KeyFileVault
    let clock: any WallClock

    init(_ loaded: LoadedSettings) throws {
        self.settings = loaded.settings
        self.vault = try explaining(.configuration) { try KeyFileVault(loaded.settings[SettingTable.vaultKeyFile]) }
        self.clock = try RunningServer.clock(of: try LabBoundary.lab(of: loaded))
    }

    var dataFolder: String { self.settings[SettingTable.dataFolder] }
    var auditPath: String { self.settings[SettingTable.auditFile] }

    /// Refuses to go on as another user than the server's, who could not use what root's commands make.
    ///
    /// The vault's key file has mode 0600, so its owner is the only user as whom a server can run.
    func requireItsUser(for command: String) throws {
        let file = self.settings[SettingTable.vaultKeyFile]
        let attributes = try explaining(.configuration) { try FileManager.default.attributesOfItem(atPath: file) }
        guard let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value, owner != Accounts.currentUser else {
            return
        }
        let name = Accounts.userName(of: owner) ?? "#\(owner)"
        throw StartFailure(
            .notAllowed,
            "the server's files belong to \(name), who could not use what this command makes; run it as that user: "
                + "sudo -u '\(name)' remote-pin-server \(command) …"
        )
    }

    /// Whoever gives the command.
    var actor: AuditActor {
        AuditActor.user(Accounts.currentUser, name: Accounts.userName(of: Accounts.currentUser))
    }

    /// The store's epoch, where another one followed it.
    struct EarlierEpoch {
        /// The latest one that the audit log tells of.
        let latest: Int
        /// The entry behind which the store's own began.
        let beginning: AuditMark
        /// When the next one began: nobody was served from this store any more.
        let end: Timestamp
    }

    /// Where the audit log tells of a later epoch than the store's: what it says of the store's own.
    ///
    /// Nil where it does not. A log that does not go back to that entry is refused: what it ended would live again.
    func earlierEpoch(_ epoch: Int) async throws -> EarlierEpoch? {
        guard AuditLog.exists(at: self.auditPath) else { return nil }
        let found: AuditVerification
        do {
            found = try await AuditReader(self.auditPath, vault: self.vault).verify(beginningOf: epoch)
        } catch let error as FileError {
            throw StartFailure(AuditLogError.file(error))
        } catch {
            throw StartFailure(AuditLogError.vault)
        }
        guard let later = found.newestEpoch, later > epoch else { return nil }
        guard let beginning = found.beginning, let end = found.supersededAt else {
            throw StartFailure(AuditLogError.otherEpoch(self.auditPath, log: later, store: epoch))
        }
        return EarlierEpoch(latest: later, beginning: beginning, end: end)
    }

    /// Opens the audit log that goes on in this epoch.
    func openAudit(epoch: Int) async throws -> AuditLog {
        let parts = AuditLog.Parts(path: self.auditPath, vault: self.vault, clock: self.clock, epoch: epoch) { newest in
            StandardStreams.writeError("audit log newest=\(newest)\n")
        }
        do throws(AuditLogError) {
            // A server that was never served has none yet.
            if !AuditLog.exists(at: self.auditPath) { try await AuditLog.create(parts) }
            return try await AuditLog.open(parts)
        } catch {
            throw StartFailure(error)
        }
    }
}

extension StartFailure {
    /// Why an audit log is not gone on with.
    init(_ error: AuditLogError) {
        let kind: Kind =
            switch error {
            case .inUse: .unavailable
            case .damaged, .otherEpoch: .damaged
            case .vault: .configuration
            case .file, .closed, .tooLong: .files
            }
        self.init(kind, "`audit.file`: \(error)")
    }
}
