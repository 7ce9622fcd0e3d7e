package import Vocabulary

/// A request from a flow to the server, the device or the storage.
///
/// Every effect is answered by exactly one ``Answer``.
package enum Effect: Equatable, Sendable {
    /// PF1.4: gets the server's update policy for this version of the app.
    case askUpdatePolicy
    /// UC1.2/2.4: gets this wallet's status from the server.
    case askStatus
    /// PF2.8/5: gets the state of this wallet's PIN attempts from the server, in a new session.
    case askPINState
    /// PF2.8: checks the wallet's PIN.
    ///
    /// The right one unlocks the wallet.
    case checkPIN(PINEntry)
    /// PF2.9/1.5 during setup: creates a hardware key, has it attested, and registers.
    case enroll(PINEntry)
    /// PF2.9/1.5 during a change: the old PIN authorizes the new one.
    case changePIN(old: PINEntry, new: PINEntry)
    /// UC9.12: gets the deletion code from the server again.
    case showDeletionCode(PINEntry)
    /// UC2.1/1.4, UC2.2/1.3 and others: shows a system prompt.
    ///
    /// If the wallet already uses biometrics, a confirmed prompt also opens the keychain item for the effects until the
    /// next lock.
    case prompt(Prompt, Presentation)
    /// UC2.3/1.2: shows the prompt, opens a session, and then opens the biometric slot.
    case unlockWithBiometrics(Presentation)
    /// PF2.4/1.6: the same while the wallet is unlocked, to confirm an action of the host application.
    case confirmWithBiometrics(Presentation)
    /// UC2.1/1.4a and UC2.2/1.5: creates a keychain item and a slot under it, in the mode requested by the server.
    case enableBiometrics(UnlockMethod)
    /// UC2.2/1.6: restores the PIN slot without biometrics, and removes the item and its slot.
    ///
    /// In the safe mode, the item must have been opened by a prompt.
    case disableBiometrics
    /// Changes from the fallback mode to the safe mode, right after a valid PIN.
    case migrateBiometrics(Presentation)
    /// UC3.1/1.2: lets the host's issuer identify the user.
    case obtainPID
    /// UC3.1/1.4: links the user's recovery code to the registration, authorized by the PIN.
    case linkRecoveryCode(PINEntry, RecoveryCode)
    /// UC9.4: deletes the local data immediately, then notifies the server.
    case wipe
    /// UC2.1: stores the progress of the setup.
    case keepProgress(SetupProgress)
    /// Drops the data key and the shares.
    case lock

    /// Returns whether `answer` is a possible answer to this effect.
    ///
    /// ``AppStateMachine`` ignores all other answers, so a flow only needs to handle those for its own effect. If a
    /// case is added to ``Answer``, the code does not compile until this method assigns it to an effect.
    func takes(_ answer: Answer) -> Bool {
        switch answer {
        case .updatePolicy: self == .askUpdatePolicy
        case .status: self == .askStatus
        case .pinState: self == .askPINState
        case .enrolled: if case .enroll = self { true } else { false }
        case .pinChanged: if case .changePIN = self { true } else { false }
        case .deletionCode: if case .showDeletionCode = self { true } else { false }
        case .recoveryCodeLinked: if case .linkRecoveryCode = self { true } else { false }
        case .verdict:
            switch self {
            case .checkPIN, .changePIN, .showDeletionCode, .linkRecoveryCode, .unlockWithBiometrics,
                .confirmWithBiometrics:
                true
            case .askUpdatePolicy, .askStatus, .askPINState, .enroll, .prompt, .enableBiometrics, .disableBiometrics,
                .migrateBiometrics, .obtainPID, .wipe, .keepProgress, .lock:
                false
            }
        case .prompted, .itemGone:
            switch self {
            case .prompt, .unlockWithBiometrics, .confirmWithBiometrics, .migrateBiometrics: true
            case .askUpdatePolicy, .askStatus, .askPINState, .checkPIN, .enroll, .changePIN, .showDeletionCode,
                .enableBiometrics,
                .disableBiometrics, .obtainPID, .linkRecoveryCode, .wipe, .keepProgress, .lock:
                false
            }
        case .biometricsChanged: if case .enableBiometrics = self { true } else { self == .disableBiometrics }
        case .pid: self == .obtainPID
        case .wiped: self == .wipe
        case .progressKept: if case .keepProgress = self { true } else { false }
        case .locked: self == .lock
        // An issuer that fails answers without a code.
        case .failed: self != .obtainPID
        }
    }
}

package enum Answer: Sendable {
    /// The server's verdict on this version of the app, and whether the solution is revoked.
    case updatePolicy(UpdateVerdict, solutionRevoked: Bool)
    case status(WalletStatus)
    case pinState(PINState)
    /// The answer to ``Effect/checkPIN(_:)``, and to any other instruction if its PIN is wrong.
    case verdict(PINVerdict)
    /// The wallet has been registered, and the registration is durable.
    case enrolled
    /// The new PIN has replaced the old one, and the change is durable.
    case pinChanged
    case deletionCode(DeletionCode)
    /// The local data has been deleted.
    ///
    /// `serverTold` is false if the server has to be notified at a later launch.
    case wiped(serverTold: Bool)
    case progressKept
    /// The answer to ``Effect/prompt(_:_:)``, ``Effect/unlockWithBiometrics(_:)``,
    /// ``Effect/confirmWithBiometrics(_:)`` and ``Effect/migrateBiometrics(_:)``.
    ///
    /// For all but the first, `confirmed` means that the entire effect has been performed.
    case prompted(PromptResult)
    /// The answer to the same effects if the item guarded by the prompt is no longer in the keychain, for example
    /// after a restore to another device.
    case itemGone
    /// Biometrics have been turned on or off as requested.
    case biometricsChanged
    /// The recovery code, or nil if the identification was canceled or failed.
    case pid(RecoveryCode?)
    /// The wallet durably has an identity.
    case recoveryCodeLinked
    /// The keys have been erased from memory.
    case locked
    /// The effect was not performed.
    case failed(Failure)

    /// Whether this answer can only have been caused by a person, in which case it counts as using the app.
    var comesFromPerson: Bool {
        switch self {
        case .prompted, .itemGone, .pid: true
        case .updatePolicy, .status, .pinState, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept,
            .biometricsChanged, .recoveryCodeLinked, .locked, .failed:
            false
        }
    }
}

package enum WalletStatus: Hashable, Sendable {
    /// The wallet can be used.
    case active
    /// The wallet is permanently revoked.
    case revoked(Revocation)
    /// The server does not know the registration that was just made (docs/protocol.md: either a late duplicate, or not
    /// followed by a session within a day), so the wallet must be set up again.
    case mustEnrollAnew
}

/// The reason why an effect was not performed (docs/wallet-errors.md).
///
/// Nothing that depends on it has been done.
package enum Failure: Error, Hashable, Sendable {
    /// The device has no network.
    case noInternet
    /// The device is online, but the server does not answer.
    ///
    /// If `notCounted` is true, no attempt can have been judged.
    case serverUnreachable(notCounted: Bool, cause: FailureCause = .connectionLost)
    /// The device is rooted, or its attestation was rejected.
    case deviceInsecure
    /// The wallet or the solution is revoked.
    case revoked(Revocation)
    /// Any other failure, with an id that the user can quote.
    case generic(correlationID: String, cause: FailureCause)
}
