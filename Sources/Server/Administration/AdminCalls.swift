package import ArgumentParser
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
    package static let auditEvents: [AuditEvent] = Self.all.map { AuditEvent(rawValue: $0.name) } + AuditEvent.others

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

extension AdminCalls {
    /// The subcommands of `admin` that call the server.
    package static let subcommands: [any ParsableCommand.Type] =
        Self.commandLine() + [
            WalletGroup.self, RevokeGroup.self, RestoreGroup.self, DenyListGroup.self, FlagsGroup.self,
            UpdatePolicyGroup.self, ClockGroup.self,
        ]

    /// The `vault` command, which is a top-level command of the program.
    package static let vault: any ParsableCommand.Type = VaultGroup.self
}

private struct WalletGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wallet",
        abstract: "Show a wallet, or list wallets.",
        subcommands: AdminCalls.commandLine(of: "wallet")
    )
}

private struct RevokeGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke wallets, a recovery code, or the whole solution.",
        subcommands: AdminCalls.commandLine(of: "revoke")
    )
}

private struct RestoreGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Take the revocation of the solution back.",
        subcommands: AdminCalls.commandLine(of: "restore")
    )
}

private struct DenyListGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deny-list",
        abstract: "Recovery codes that revoke every wallet linked to them.",
        discussion: """
            The server stores the vault's MAC of each code, from which the code cannot be computed. An operator who \
            has a code can look it up.
            """,
        subcommands: AdminCalls.commandLine(of: "deny-list") + [AddDenied.self],
        defaultSubcommand: ListDenied.commandLine
    )
}

private struct FlagsGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flags",
        abstract: "Turn features on for some wallets, for a percentage of them, or for all.",
        subcommands: AdminCalls.commandLine(of: "flags"),
        defaultSubcommand: ListFlags.commandLine
    )
}

private struct UpdatePolicyGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update-policy",
        abstract: "Notify of updates, recommend them, warn until a date, or block versions.",
        discussion: """
            Each platform has a list of rules. The first rule that matches a version applies; a version without a rule \
            is served without a message. Until an operator sets rules, the settings `update.…` apply.
            """,
        subcommands: AdminCalls.commandLine(of: "update-policy"),
        defaultSubcommand: ShowUpdatePolicy.commandLine
    )
}

private struct ClockGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Move a lab's clock.",
        subcommands: AdminCalls.commandLine(of: "clock")
    )
}

private struct VaultGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Show, rotate and retire the vault's keys while the server is running.",
        subcommands: AdminCalls.commandLine(of: "vault")
    )
}
