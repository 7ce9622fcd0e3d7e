internal import StoreMaintenance
internal import Vault
internal import WalletStore
internal import Wire

// Commands about the store as a whole; the work that they start continues without the operator's connection.
extension AdminCommands {
    func maintain(_ command: AdminCommand) async throws(AdminFailure) -> AdminResult {
        guard let maintenance = self.operations.maintenance else {
            throw AdminFailure(.notAllowed, "This server does not maintain its store.")
        }
        do {
            switch command {
            case .startBackup(let path):
                try maintenance.startBackup(at: path)
                return .upkeep(UpkeepReport(maintenance.report()))
            case .showUpkeep:
                return .upkeep(UpkeepReport(maintenance.report()))
            case .rotateVault:
                try await maintenance.rotate()
                return .upkeep(UpkeepReport(maintenance.report()))
            case .retireVault:
                return .vaultKeys(try await maintenance.retire().map(VaultKeyVersion.init))
            case .showVaultKeys:
                return .vaultKeys(try await maintenance.vaultKeys().map(VaultKeyVersion.init))
            default:
                throw AdminFailure(.unsupported, "This server does not know the command.")
            }
        } catch {
            throw AdminFailure(error)
        }
    }
}

extension AdminFailure {
    /// Translates an error of the store's maintenance.
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as AdminFailure: self = error
        case MaintenanceFailure.notAllowed(let sentence): self.init(.notAllowed, sentence)
        case MaintenanceFailure.unavailable(let sentence): self.init(.unavailable, sentence)
        case let error as StoreError: self.init(error)
        case let error as VaultError: self.init(error)
        default: self.init(.internal, "Unexpected failure: \(error).")
        }
    }
}

extension UpkeepReport {
    init(_ report: MaintenanceReport) {
        self.init(
            epoch: report.epoch,
            backup: report.backup.map(BackupReport.init),
            reseal: report.reseal.map(ResealReport.init)
        )
    }
}

extension BackupReport {
    fileprivate init(_ progress: BackupProgress) {
        self.init(path: progress.path)
        self.state = UpkeepState(progress.state)
        (self.pagesCopied, self.pages, self.byteCount) = (progress.pagesCopied, progress.pages, progress.byteCount)
        (self.takenAt, self.problem) = (progress.takenAt, progress.problem)
    }
}

extension ResealReport {
    fileprivate init(_ progress: ResealProgress) {
        self.init(version: progress.version)
        self.state = UpkeepState(progress.state)
        (self.walletsDone, self.wallets, self.problem) = (progress.walletsDone, progress.wallets, progress.problem)
    }
}

extension UpkeepState {
    fileprivate init(_ state: MaintenanceState) {
        switch state {
        case .running: self = .running
        case .done: self = .done
        case .failed: self = .failed
        }
    }
}

extension VaultKeyVersion {
    fileprivate init(_ usage: VaultKeyUsage) {
        self.init(
            version: usage.version,
            isActive: usage.isActive,
            values: usage.values,
            activeSince: usage.activeSince,
            isRetirable: usage.isRetirable
        )
    }
}
