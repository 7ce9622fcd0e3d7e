internal import ArgumentParser
package import AuditLog

/// All operator commands, in the order of the command-line help.
package enum AdminCalls {
    package static let all: [any AdminCall.Type] = [
        ShowStatus.self, ListSessions.self, Reload.self, SetLogLevel.self,
        ShowWallet.self, ListWallets.self,
        RevokeWallets.self, RevokeRecoveryCode.self, RevokeSolution.self, RestoreSolution.self,
        ListDenied.self, ShowDenied.self, RemoveDenied.self,
        ListFlags.self, SetFlag.self,
        ShowUpdatePolicy.self, SetUpdatePolicy.self, ClearUpdatePolicy.self,
        AdvanceClock.self,
        StartBackup.self, ShowMaintenance.self,
        ShowVaultKeys.self, RotateVault.self, RefreshShares.self, RetireVault.self,
    ]

    /// Every event that can appear in the audit log, commands first.
    package static let auditEvents: [AuditEvent] =
        Self.all.map { AuditEvent(rawValue: $0.name) } + AuditEvent.others

    /// Returns the command with this name, or nil if it is unknown to this version.
    static func named(_ name: String) -> (any AdminCall.Type)? {
        self.all.first { $0.name == name }
    }

    /// Returns the command-line commands whose names begin with `group`, or those without a group.
    static func commandLine(of group: String? = nil) -> [any ParsableCommand.Type] {
        self.all.compactMap { call in
            let words = call.name.split(separator: " ").map(String.init)
            return words.dropLast() == (group.map { [$0] } ?? []) ? call.commandLine : nil
        }
    }
}
