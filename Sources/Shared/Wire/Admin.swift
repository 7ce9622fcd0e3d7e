package import Vocabulary

/// One command of an operator to a running server, with the id that its answer repeats.
package struct AdminRequest: Hashable, Sendable {
    package var id: UInt64
    package var command: AdminCommand

    package init(id: UInt64, command: AdminCommand) {
        self.id = id
        self.command = command
    }
}

/// What an operator asks of a running server.
///
/// Each case names the result that it gets, or else ``AdminResult/failed(_:)``.
package enum AdminCommand: Hashable, Sendable {
    /// Moves a lab's clock forward, by whole milliseconds from one to ``longestAdvance``; refused outside a lab.
    /// ``AdminResult/clockAdvanced(now:)``.
    case advanceClock(by: Duration)
    /// ``AdminResult/wallet(_:)``.
    case showWallet(WalletID)
    /// Ends one to ``mostWallets`` different wallets for good: all of them, or none where one is unknown. One that has
    /// ended already stays as it is. ``AdminResult/walletsRevoked(now:before:)``.
    case revokeWallets([WalletID])
    /// Puts the code on the deny list and ends the wallets that are linked to it for good; one that is linked later ends
    /// then. ``AdminResult/recoveryCodeRevoked(_:)``.
    case revokeRecoveryCode(RecoveryCode)
    /// Nothing is released or registered until the solution is restored. ``AdminResult/solution(isRevoked:changed:)``.
    case revokeSolution
    /// ``AdminResult/solution(isRevoked:changed:)``.
    case restoreSolution
    /// One to ``mostDenied`` entries of the deny list in the order of their MACs, from the first one or from the one
    /// behind `after` on. ``AdminResult/deniedPage(_:)``.
    case listDenied(after: RecoveryCodeMAC?, limit: Int)
    /// Whether a code is on the deny list. ``AdminResult/denied(_:)``.
    case showDenied(DeniedName)
    /// Takes a code off the deny list; wallets that were revoked by it stay so. ``AdminResult/denied(_:)``.
    case removeDenied(DeniedName)
    /// ``AdminResult/flags(_:)``.
    case listFlags
    /// Holds from each wallet's next OpenSession on; the rollout must be allowed. ``AdminResult/flags(_:)``.
    case setFlag(FeatureFlag, Rollout)
    /// ``AdminResult/updatePolicy(_:)``.
    case showUpdatePolicy
    /// Replaces the rules of the platforms, at least one; they outrank the settings until they are cleared. At most
    /// ``UpdateRule/most`` rules; times are whole milliseconds since 1970. ``AdminResult/updatePolicy(_:)``.
    case setUpdatePolicy(Set<Platform>, [UpdateRule])
    /// Has the settings count again for the platforms, at least one. ``AdminResult/updatePolicy(_:)``.
    case clearUpdatePolicy(Set<Platform>)
    /// ``AdminResult/status(_:)``.
    case showStatus
    /// One to ``mostListed`` wallets that fit, from the first one or from `after` on, which is the `next` of the page
    /// before. ``AdminResult/walletPage(_:)``.
    case listWallets(WalletFilter, after: UInt64?, limit: Int)
    /// One to ``mostListed`` open sessions, from the first one or from the one behind the connection `after` on.
    /// ``AdminResult/sessionPage(_:)``.
    case listSessions(after: UInt64?, limit: Int)
    /// The same as SIGHUP. ``AdminResult/reloaded(_:)``.
    case reload
    /// Until the server's end; nil only says which it is. ``AdminResult/logLevel(_:changed:)``.
    case setLogLevel(LogLevel?)
    /// Has the store copied into a file of this path, from the root, that must not exist yet.
    /// ``AdminResult/upkeep(_:)`` once it has begun.
    case startBackup(path: String)
    /// Adds a key version to the vault, which seals from then on. ``AdminResult/upkeep(_:)`` once it has begun.
    case rotateVault
    /// Removes key versions that seal nothing any more. ``AdminResult/vaultKeys(_:)``.
    case retireVault
    /// How far backup and rotation are. ``AdminResult/upkeep(_:)``.
    case showUpkeep
    /// What each key version seals. ``AdminResult/vaultKeys(_:)``.
    case showVaultKeys
    /// Well formed, and nothing that this version knows.
    case unknown

    /// Ten years.
    package static let longestAdvance: Duration = .seconds(10 * 366 * 24 * 3600)
    /// Wallets that one command can end.
    package static let mostWallets = 1000
    /// Entries of the deny list that one answer can hold.
    package static let mostDenied = 500
    /// Wallets or sessions that one answer can hold.
    package static let mostListed = 500
    /// Bytes of a backup's path.
    package static let longestPath = 4000
}

/// The answer to the ``AdminRequest`` of the same id.
package struct AdminResponse: Hashable, Sendable {
    package var id: UInt64
    package var result: AdminResult

    package init(id: UInt64, result: AdminResult) {
        self.id = id
        self.result = result
    }
}

/// What a command gave.
package enum AdminResult: Hashable, Sendable {
    /// Every timer that the new time makes due has run; the lab's time.
    case clockAdvanced(now: Timestamp)
    case wallet(WalletReport)
    /// How many wallets the command ended, and how many had ended before.
    case walletsRevoked(now: Int, before: Int)
    case recoveryCodeRevoked(RecoveryCodeRevocation)
    /// `changed`: the command made a difference.
    case solution(isRevoked: Bool, changed: Bool)
    case deniedPage(DeniedPage)
    case denied(DeniedReport)
    /// Every flag there is.
    case flags([FlagReport])
    case updatePolicy(UpdatePolicyReport)
    case status(StatusReport)
    case walletPage(WalletPage)
    case sessionPage(SessionPage)
    /// Every part there is.
    case reloaded([ReloadedPart])
    /// `changed`: the command made a difference.
    case logLevel(LogLevel, changed: Bool)
    case upkeep(UpkeepReport)
    /// Every key version there is.
    case vaultKeys([VaultKeyVersion])
    /// The command was not done, and nothing of it.
    case failed(AdminFailure)
}

/// Why a command was not done.
package struct AdminFailure: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// There is no wallet of an id that was named; the sentence says which.
        case unknownWallet
        /// Not by this server, or not yet: nothing was done.
        case notAllowed
        /// The store or the vault did not answer; again later.
        case unavailable
        /// This server does not know the command.
        case unsupported
        /// Not the message, or a value outside its range.
        case malformed
        /// The store holds what the server did not write; its log says more.
        case `internal`
    }

    package var kind: Kind
    /// One sentence for the operator, at most 512 bytes.
    package var sentence: String

    package init(_ kind: Kind, _ sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }
}
