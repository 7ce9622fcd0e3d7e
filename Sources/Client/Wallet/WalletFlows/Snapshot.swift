package import DeviceInterface
package import Vocabulary

/// The state of device and storage at one event, taken by the caller of the flows.
///
/// The flows do not read any clocks, files or sensors themselves, so events and snapshots make up a complete
/// transcript.
package struct Snapshot: Sendable {
    /// The time of the event, on the wallet's clock.
    package var now: Timestamp
    /// The version to which an answer of the update policy applies.
    package var appVersion: AppVersion
    package var isRooted = false
    /// The progress of this wallet's setup.
    package var setup = SetupProgress.notStarted
    /// True if the data key is not in memory, which is always the case after a launch.
    package var isLocked = true
    /// True if an issuer has given this wallet an identity.
    package var hasPID = false
    /// The last attempt policy received from the server.
    package var policy = AttemptPolicy.standard
    /// The last revocation received from the server, unless it has said since that the wallet is active.
    package var lastRevocation: Revocation?
    /// The last answer of the update policy.
    package var lastUpdate: RememberedUpdate?
    /// The code that the user has not yet confirmed as written down; readable only while unlocked.
    package var deletionCode: DeletionCode?
    /// The phone's operating system, which selects the variant of a use case.
    package var platform = Platform.android
    package var biometrics = BiometricSupport.none
    /// True if the phone has a passcode.
    package var hasPasscode = false
    package var biometricMode = BiometricMode.off
    /// The method that opens the wallet's keychain item, while biometrics are on.
    package var unlockMethod = UnlockMethod.biometric
    /// The server's last flag for this wallet: whether it asks for the safe biometric mode.
    package var wantsSafeMode = false
    /// The host application's running session.
    package var hostSession: HostSession?
    /// Links below this address are the wallet's own, as in `https://wallet.example.org/link`.
    package var linkBase = "https://wallet.example.org/link"
    package var lockTimes = LockTimes()
    /// The pending link, for a flow that starts; ``AppStateMachine`` sets it.
    var link: IncomingLink?
    /// The server's last feature flag: whether it gives wallets a deletion code.
    package var offersDeletionCode = true
    /// The facts about attempts that have not been shown yet.
    package var attemptNotice: AttemptNotice?
    /// Host and port of the server, as `App information` shows it.
    package var server = ""

    package init(now: Timestamp, appVersion: AppVersion) {
        self.now = now
        self.appVersion = appVersion
    }

    /// True if the step from the PIN-fallback mode to the safe one follows the next valid PIN.
    package var needsMigration: Bool { self.biometricMode == .fallback && self.wantsSafeMode }
}

/// The timeouts after which an unlocked wallet locks itself.
public struct LockTimes: Hashable, Sendable {
    /// The time in the background.
    public var background = Duration.seconds(300)
    /// The time without a selection or entry.
    public var inactivity = Duration.seconds(300)
    /// The time without a selection or entry after which the warning is shown.
    public var warning = Duration.seconds(240)

    /// Creates the standard times: a lock after five minutes, with a warning one minute before.
    public init() {}
}

/// The progress of the use case "Set up a remote PIN" (UC2.1); a finished step never repeats, even after a crash.
public enum SetupProgress: String, Hashable, Sendable, CaseIterable {
    /// No PIN is registered.
    case notStarted = "not-started"
    /// The PIN is registered; its screen (1.5) was not confirmed.
    case registered
    /// The deletion code (1.6) was not confirmed as written down.
    case secured
    /// The setup is complete.
    case done
}

/// A stored answer of the update policy, used if the server cannot be reached (PF1.4).
package struct RememberedUpdate: Hashable, Sendable {
    package var verdict: UpdateVerdict
    package var receivedAt: Timestamp
    package var appVersion: AppVersion

    /// The lifetime of an answer other than `block`.
    package static let lifetime: Duration = .seconds(24 * 3600)

    package init(verdict: UpdateVerdict, receivedAt: Timestamp, appVersion: AppVersion) {
        self.verdict = verdict
        self.receivedAt = receivedAt
        self.appVersion = appVersion
    }

    /// The verdict that still applies; nil if none does.
    ///
    /// A block applies to the version it was given for, no matter how old it is. Every other answer applies for a day,
    /// but not if the clock has been set back to a time before the answer.
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
