package import Vocabulary

/// The state of the device and the storage at the time of an event, captured by the caller of the flows.
///
/// The flows do not read any clocks, files or sensors themselves, so events and snapshots together make up a complete
/// transcript.
package struct Snapshot: Sendable {
    /// The time of the event, according to the wallet's clock.
    package var now: Timestamp
    /// The phone's ``Device/uptime`` at the event.
    ///
    /// Invariant: blocks, timers and locks are measured only with this value. The owner, or a thief, can set the clock
    /// of ``now``.
    package var uptime: Duration
    /// The app version that the update policy's answers apply to.
    package var appVersion: AppVersion
    package var isRooted = false
    package var setup = SetupProgress.notStarted
    /// Whether the data key is not in memory; always true after a launch.
    package var isLocked = true
    /// Whether this wallet has been given an identity by an issuer.
    package var hasPID = false
    /// The last attempt policy received from the server.
    package var policy = AttemptPolicy.standard
    /// The state of this wallet's attempts that the server last stated to this process, or nil after a right PIN.
    ///
    /// Unproven, and therefore only shown.
    package var pinState: PINState?
    /// The last revocation received from the server, unless it has reported the wallet as active since.
    package var lastRevocation: Revocation?
    /// The last answer from the update policy.
    package var lastUpdate: RememberedUpdate?
    /// The code that the user has not yet confirmed as written down; only readable while unlocked.
    package var deletionCode: DeletionCode?
    /// The phone's operating system, which determines the variant of a use case.
    package var platform = Platform.android
    package var biometrics = BiometricSupport.none
    /// True if the phone has a passcode.
    package var hasPasscode = false
    package var biometricMode = BiometricMode.off
    /// The method that opens the wallet's keychain item, if biometrics are on.
    package var unlockMethod = UnlockMethod.biometric
    /// Whether the server last asked this wallet to use the safe biometric mode.
    package var wantsSafeMode = false
    /// Whether the host application lets the phone's prompt confirm its actions in the safe biometric mode.
    package var hostAllowsPrompt = false
    /// The session in progress in the host application.
    package var hostSession: HostSession?
    /// The base address of the wallet's links, such as `https://wallet.example.org/link`.
    package var linkBase = "https://wallet.example.org/link"
    package var lockTimes = LockTimes()
    /// The pending link for a flow that starts; set by ``AppStateMachine``.
    var link: IncomingLink?
    /// Whether the server last reported that it gives deletion codes to wallets.
    package var offersDeletionCode = true
    /// The attempt notice that has not been shown yet.
    package var attemptNotice: AttemptNotice?
    /// The server's host and port, as shown in `App information`.
    package var server = ""

    package init(now: Timestamp, uptime: Duration, appVersion: AppVersion) {
        self.now = now
        self.uptime = uptime
        self.appVersion = appVersion
    }

    /// Whether the phone's prompt confirms actions of the host application instead of the PIN.
    ///
    /// The server's flag ends it as soon as a session has withdrawn it, even before the wallet leaves the safe mode.
    package var confirmsWithPrompt: Bool {
        self.hostAllowsPrompt && self.biometricMode == .safe && self.wantsSafeMode
    }

    /// Whether the migration from the PIN-fallback mode to the safe mode follows the next valid PIN.
    package var needsMigration: Bool { self.biometricMode == .fallback && self.wantsSafeMode }
}

/// The time until an unlocked wallet locks itself.
public struct LockTimes: Hashable, Sendable {
    /// The maximum time in the background.
    public var background = Duration.seconds(300)
    /// The maximum time without user input.
    public var inactivity = Duration.seconds(300)
    /// The time without user input after which the warning is shown.
    public var warning = Duration.seconds(240)

    /// Creates the default times: locks after five minutes, with a warning one minute before.
    public init() {}
}

/// The progress of the setup of the remote PIN (UC2.1).
///
/// A completed step is never repeated, even after a crash.
public enum SetupProgress: String, Hashable, Sendable, CaseIterable {
    /// No PIN is registered.
    case notStarted = "not-started"
    /// The PIN is registered, but its screen (1.5) has not been confirmed yet.
    case registered
    /// The deletion code (1.6) has not been confirmed as written down yet.
    case secured
    /// The setup is complete.
    case done
}

/// A stored answer from the update policy, used if the server cannot be reached (PF1.4).
package struct RememberedUpdate: Hashable, Sendable {
    package var verdict: UpdateVerdict
    package var receivedAt: Timestamp
    package var appVersion: AppVersion

    /// The time for which an answer other than `block` is valid.
    package static let lifetime: Duration = .seconds(24 * 3600)

    package init(verdict: UpdateVerdict, receivedAt: Timestamp, appVersion: AppVersion) {
        self.verdict = verdict
        self.receivedAt = receivedAt
        self.appVersion = appVersion
    }

    /// Returns the verdict if it still applies, or nil otherwise.
    ///
    /// A block applies to the version it was issued for, no matter how old it is. Every other answer applies for a day,
    /// unless the clock has been set back to a time before the answer.
    package func verdict(at now: Timestamp, for version: AppVersion) -> UpdateVerdict? {
        guard version == self.appVersion else { return nil }
        let age = now - self.receivedAt
        switch self.verdict {
        case .block: return self.verdict
        case .warn(let blockedIn):
            guard age >= .zero, age < Self.lifetime else { return nil }
            return age < blockedIn ? .warn(blockedIn: blockedIn - age) : .block(updateAvailable: true)
        case .ok, .notify, .recommend: return age >= .zero && age < Self.lifetime ? self.verdict : nil
        }
    }
}

/// The information about attempts that the wallet shows after an unlock, based on the server's receipts and on the
/// counts that a session states.
package struct AttemptNotice: Hashable, Sendable {
    /// The number of wrong PINs since the last right one, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of the last right PIN, or nil if the wallet has no receipt for it.
    package var since: Timestamp?
    /// The contradictions found in receipts, without duplicates, in the order they were found.
    package var tampering: [Tampering]
    /// The contradiction between the session's counts and the last receipt, or nil if there is none.
    package var hint: AttemptHint?

    package init(wrongPINs: Int, since: Timestamp?, tampering: [Tampering], hint: AttemptHint? = nil) {
        self.wrongPINs = wrongPINs
        self.since = since
        self.tampering = tampering
        self.hint = hint
    }
}

/// A contradiction between the counts that a session states and the wallet's last receipt.
///
/// Nothing signs the counts, so this is a hint: it is shown, and the receipt of the next PIN decides.
package struct AttemptHint: Hashable, Sendable {
    /// The rule for receipts that the counts violate.
    package var finding: Tampering
    /// The number of wrong PINs since the last right one, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of the last of them, or nil if there are none.
    package var lastWrong: Timestamp?

    package init(finding: Tampering, wrongPINs: Int, lastWrong: Timestamp?) {
        self.finding = finding
        self.wrongPINs = wrongPINs
        self.lastWrong = lastWrong
    }
}

/// A contradiction between the server's receipts and the wallet's own attempts (docs/protocol.md, Receipts).
public enum Tampering: String, Hashable, Sendable, CaseIterable {
    /// A receipt's path, signature or facts do not match the attempt it is for.
    case forgedReceipt = "forged-receipt"
    /// A verdict came without a receipt, even though the server's key is pinned.
    case missingReceipt = "missing-receipt"
    /// The receipt is from an earlier epoch than the last one.
    case olderEpoch = "older-epoch"
    /// The number of judged attempts did not increase within the same epoch.
    case numberBack = "number-back"
    /// More attempts were judged than this wallet has sent.
    case unexplainedAttempts = "unexplained-attempts"
    /// The server's key is neither the pinned one nor signed by it or its successors.
    case unknownKey = "unknown-key"
}
