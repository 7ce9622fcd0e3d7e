public import DeviceInterface
public import Vocabulary

/// What a flow asks of the world outside: the server, the device, the storage.
///
/// One ``Answer`` follows each.
public enum Effect: Sendable {
    /// PF1.4: what the server says of this version of the app.
    case askUpdatePolicy
    /// UC1.2/2.4: what the server says of this wallet.
    case askStatus
    /// PF2.8: whether this is the wallet's PIN; a right one unlocks.
    case checkPIN(PINEntry)
    /// PF2.9/1.5 at setup: a key in the device's hardware, its attestation, the registration.
    case enroll(PINEntry)
    /// PF2.9/1.5 at a change: the old PIN pays for the new one.
    case changePIN(old: PINEntry, new: PINEntry)
    /// UC9.12: the deletion code, once more, from the server.
    case showDeletionCode(PINEntry)
    /// UC2.1/1.4, UC2.2/1.3 and wherever the phone's owner is to be asked: a prompt of the operating system.
    ///
    /// Where the wallet uses biometrics already, a confirmed prompt also opens their keychain item for what follows until
    /// the next lock.
    case prompt(Prompt, Presentation)
    /// UC2.3/1.2: the prompt, then a session, then the biometric slot.
    case unlockWithBiometrics(Presentation)
    /// UC2.1/1.4a and UC2.2/1.5: a new keychain item and the slot under it, in the mode that the server's flag says.
    case enableBiometrics(UnlockMethod)
    /// UC2.2/1.6: the PIN slot as it was without biometrics; item and slot removed. In safe mode a prompt has opened the item.
    case disableBiometrics
    /// safe-biometric.md, Migration: from the fallback mode to the safe one, right after a valid PIN.
    case migrateBiometrics(Presentation)
    /// UC3.1/1.2: the host's issuer identifies the person.
    case obtainPID
    /// UC3.1/1.4: links the person's recovery code to the registration; the PIN pays for it.
    case linkRecoveryCode(PINEntry, RecoveryCode)
    /// UC9.4: local data gone at once, then the server is told.
    case wipe
    /// UC2.1: remember how far the setup came.
    case keepProgress(SetupProgress)
    /// Forget the data key and the shares.
    case lock
}

/// What became of an ``Effect``.
public enum Answer: Sendable {
    case updatePolicy(UpdateVerdict, solutionRevoked: Bool)
    case status(WalletStatus)
    /// Of ``Effect/checkPIN(_:)``, and of every other instruction whose PIN was not right.
    case verdict(PINVerdict)
    case enrolled
    case pinChanged
    case deletionCode(DeletionCode)
    /// `serverTold` is false where a later launch will tell it.
    case wiped(serverTold: Bool)
    case progressKept
    /// Of ``Effect/prompt(_:_:)``, ``Effect/unlockWithBiometrics(_:)`` and ``Effect/migrateBiometrics(_:)``; with the last two
    /// `confirmed` says that all of it is done.
    case prompted(PromptResult)
    /// Of the same: what the prompt guards is gone from the keychain, as after a restore to another device.
    case itemGone
    /// Biometrics are on or off now, as was asked.
    case biometricsChanged
    /// Nil where the issuing was cancelled or failed.
    case pid(RecoveryCode?)
    /// The wallet has an identity, durably.
    case recoveryCodeLinked
    case locked
    case failed(Failure)
}

/// What the server says of this wallet.
public enum WalletStatus: Hashable, Sendable {
    case active
    case revoked(Revocation)
    /// The server does not know the registration that was just made (docs/protocol.md: a late duplicate, or one that no
    /// session followed for a day): set up anew.
    case mustEnrollAnew
}

/// Why an effect was not done (flows.md, Errors); nothing that depends on it has happened.
public enum Failure: Error, Hashable, Sendable {
    /// The device has no network.
    case noInternet
    /// The device has a network and the server does not answer. `notCounted` where no attempt can have been judged.
    case serverUnreachable(notCounted: Bool)
    /// The device is rooted, or its attestation was refused.
    case deviceInsecure
    /// The wallet or the solution is revoked.
    case revoked(Revocation)
    /// Anything else, with a code to quote.
    case generic(correlationID: String)
}
