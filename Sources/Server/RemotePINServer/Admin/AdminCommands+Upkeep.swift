internal import Wire

// Commands about the store as a whole; what they start goes on by itself.
extension AdminCommands {
    func upkeep(_ command: AdminCommand) async throws(AdminFailure) -> AdminResult {
        guard let upkeep = self.operations.upkeep else {
            throw AdminFailure(.notAllowed, "Nobody looks after this server's store.")
        }
        switch command {
        case .startBackup(let path):
            try upkeep.startBackup(at: path)
            return .upkeep(upkeep.report())
        case .showUpkeep:
            return .upkeep(upkeep.report())
        case .rotateVault:
            try await upkeep.rotate()
            return .upkeep(upkeep.report())
        case .retireVault:
            return .vaultKeys(try await upkeep.retire())
        case .showVaultKeys:
            return .vaultKeys(try await upkeep.vaultKeys())
        default:
            throw AdminFailure(.unsupported, "This server does not know the command.")
        }
    }
}
