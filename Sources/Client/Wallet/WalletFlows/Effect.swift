package import DeviceInterface
package import Vocabulary

/// A request from a flow to the server, the device or the storage.
///
/// There is exactly one ``Answer`` to each effect.
package enum Effect: Equatable, Sendable {
    /// PF1.4: the server's update policy for this version of the app.
    case askUpdatePolicy
    /// UC1.2/2.4: the server's status of this wallet.
    case askStatus
    /// PF2.8: checks the wallet's PIN; the right one unlocks.
    case checkPIN(PINEntry)
    /// PF2.9/1.5 at setup: a key in the device's hardware, its attestation, the registration.
    case enroll(PINEntry)
    /// PF2.9/1.5 at a change: the old PIN authorizes the new one.
    case changePIN(old: PINEntry, new: PINEntry)
    /// UC9.12: gets the deletion code from the server once more.
    case showDeletionCode(PINEntry)
    /// UC2.1/1.4, UC2.2/1.3 and other questions to the phone's owner: a prompt of the operating system.
    ///
    /// If the wallet uses biometrics already, a confirmed prompt also opens their keychain item for the effects until
    /// the next lock.
    case prompt(Prompt, Presentation)
    /// UC2.3/1.2: the prompt, then a session, then the biometric slot.
    case unlockWithBiometrics(Presentation)
    /// UC2.1/1.4a and UC2.2/1.5: a new keychain item and the slot under it, in the mode of the server's flag.
    case enableBiometrics(UnlockMethod)
    /// UC2.2/1.6: restores the PIN slot without biometrics, and removes item and slot. In safe mode a prompt has opened
    /// the item.
    case disableBiometrics
    /// safe-biometric.md, Migration: from the fallback mode to the safe one, right after a valid PIN.
    case migrateBiometrics(Presentation)
    /// UC3.1/1.2: the host's issuer identifies the person.
    case obtainPID
    /// UC3.1/1.4: links the person's recovery code to the registration; the PIN authorizes it.
    case linkRecoveryCode(PINEntry, RecoveryCode)
    /// UC9.4: deletes the local data at once, then notifies the server.
    case wipe
    /// UC2.1: stores the progress of the setup.
    case keepProgress(SetupProgress)
    /// Forgets the data key and the shares.
    case lock

    /// Returns whether `answer` can be the answer to this effect.
    ///
    /// ``AppStateMachine`` ignores any other answer, so a flow only needs to handle the answers to its own effect. If a
    /// case is added to ``Answer``, the code does not compile until this function assigns it to an effect.
    func takes(_ answer: Answer) -> Bool {
        switch answer {
        case .updatePolicy: self == .askUpdatePolicy
        case .status: self == .askStatus
        case .enrolled: if case .enroll = self { true } else { false }
        case .pinChanged: if case .changePIN = self { true } else { false }
        case .deletionCode: if case .showDeletionCode = self { true } else { false }
        case .recoveryCodeLinked: if case .linkRecoveryCode = self { true } else { false }
        case .verdict:
            switch self {
            case .checkPIN, .changePIN, .showDeletionCode, .linkRecoveryCode, .unlockWithBiometrics: true
            case .askUpdatePolicy, .askStatus, .enroll, .prompt, .enableBiometrics, .disableBiometrics,
                .migrateBiometrics, .obtainPID, .wipe, .keepProgress, .lock:
                false
            }
        case .prompted, .itemGone:
            switch self {
            case .prompt, .unlockWithBiometrics, .migrateBiometrics: true
            case .askUpdatePolicy, .askStatus, .checkPIN, .enroll, .changePIN, .showDeletionCode, .enableBiometrics,
                .disableBiometrics, .obtainPID, .linkRecoveryCode, .wipe, .keepProgress, .lock:
                false
            }
        case .biometricsChanged: if case .enableBiometrics = self { true } else { self == .disableBiometrics }
        case .pid: self == .obtainPID
        case .wiped: self == .wipe
        case .progressKept: if case .keepProgress = self { true } else { false }
        case .locked: self == .lock
        case .failed: true
        }
    }
}

/// The outcome of an ``Effect``.
package enum Answer: Sendable {
    /// The server's verdict on this version of the app, and whether the solution is revoked.
    case updatePolicy(UpdateVerdict, solutionRevoked: Bool)
    /// The server's status of this wallet.
    case status(WalletStatus)
    /// The answer to ``Effect/checkPIN(_:)``, and to every other instruction whose PIN was not right.
    case verdict(PINVerdict)
    /// The wallet is registered, and the registration is durable.
    case enrolled
    /// The new PIN has replaced the old one, and the change is durable.
    case pinChanged
    /// The wallet's deletion code.
    case deletionCode(DeletionCode)
    /// The local data is deleted; `serverTold` is false if the server has to be notified at a later launch.
    case wiped(serverTold: Bool)
    /// The progress of the setup is stored.
    case progressKept
    /// The answer to ``Effect/prompt(_:_:)``, ``Effect/unlockWithBiometrics(_:)`` and ``Effect/migrateBiometrics(_:)``.
    /// For the last two, `confirmed` means that the whole effect is done.
    case prompted(PromptResult)
    /// The answer to the same three effects if the item that the prompt guards is gone from the keychain, as after a
    /// restore to another device.
    case itemGone
    /// Biometrics are on or off now, as asked.
    case biometricsChanged
    /// Nil if the issuing was canceled or failed.
    case pid(RecoveryCode?)
    /// The wallet has an identity, durably.
    case recoveryCodeLinked
    /// The keys are erased from memory.
    case locked
    /// The effect was not performed.
    case failed(Failure)

    /// True if this answer can only have been caused by a person, so it counts as using the app.
    var comesFromPerson: Bool {
        switch self {
        case .prompted, .itemGone, .pid: true
        case .updatePolicy, .status, .verdict, .enrolled, .pinChanged, .deletionCode, .wiped, .progressKept,
            .biometricsChanged, .recoveryCodeLinked, .locked, .failed:
            false
        }
    }
}

/// The server's status of this wallet.
package enum WalletStatus: Hashable, Sendable {
    /// The wallet can be used.
    case active
    /// The wallet has ended.
    case revoked(Revocation)
    /// The server does not know the registration that was just made (docs/protocol.md: a late duplicate, or one that no
    /// session followed for a day): set up anew.
    case mustEnrollAnew
}

/// The reason why an effect was not performed (flows.md, Errors); nothing that depends on it has been done.
package enum Failure: Error, Hashable, Sendable {
    /// The device has no network.
    case noInternet
    /// The device has a network, but the server does not answer. `notCounted` if no attempt can have been judged.
    case serverUnreachable(notCounted: Bool, cause: FailureCause = .connectionLost)
    /// The device is rooted, or its attestation was rejected.
    case deviceInsecure
    /// The wallet or the solution is revoked.
    case revoked(Revocation)
    /// Any other failure, with an id to quote.
    case generic(correlationID: String, cause: FailureCause)
}
