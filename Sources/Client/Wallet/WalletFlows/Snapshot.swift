public import DeviceInterface
public import Vocabulary

/// What the flows may know of device and storage at one event; a snapshot taken by whoever drives them.
///
/// The flows read no clock, file or sensor themselves, so that a transcript of events and snapshot says everything.
public struct Snapshot: Sendable {
    /// The time of the event, on the wallet's clock.
    public var now: Timestamp
    /// The version that an answer of the update policy holds for.
    public var appVersion: AppVersion
    public var isRooted = false
    /// How far this wallet is set up.
    public var setup = SetupProgress.notStarted
    /// Whether the data key is out of memory; so it is after every launch.
    public var isLocked = true
    /// Whether an issuer has given this wallet an identity.
    public var hasPID = false
    /// The rules of attempts as the server stated them last.
    public var policy = AttemptPolicy.standard
    /// The revocation that the server stated last, unless it called the wallet active since.
    public var lastRevocation: Revocation?
    /// The last answer of the update policy.
    public var lastUpdate: RememberedUpdate?
    /// The code that its owner has not yet confirmed as written down; readable only while unlocked.
    public var deletionCode: DeletionCode?
    /// Which variant of a use case the phone's operating system calls for.
    public var platform = Platform.android
    public var biometrics = BiometricSupport.none
    /// Whether the phone itself is guarded by a passcode.
    public var hasPasscode = false
    public var biometricMode = BiometricMode.off
    /// What opens the wallet's keychain item, while biometrics are on.
    public var unlockMethod = UnlockMethod.biometric
    /// Whether the server's flag asks this wallet for the safe biometric mode, as it said last.
    public var wantsSafeMode = false
    /// What the host application is in the middle of.
    public var hostSession: HostSession?
    /// Links below this address are the wallet's own, as in `https://wallet.example.org/link`.
    public var linkBase = "https://wallet.example.org/link"
    public var lockTimes = LockTimes()
    /// The link that waits to be resolved; the app's own state, which ``AppStateMachine`` sets.
    var link: IncomingLink?
    /// Whether the server gives wallets a deletion code, as it said last.
    public var offersDeletionCode = true
    /// Host and port of the server, as `App information` shows it.
    public var server = ""

    public init(now: Timestamp, appVersion: AppVersion) {
        self.now = now
        self.appVersion = appVersion
    }

    /// Whether the next valid PIN is followed by the step from the PIN-fallback mode to the safe one.
    public var needsMigration: Bool { self.biometricMode == .fallback && self.wantsSafeMode }
}

/// When an unlocked wallet locks itself.
public struct LockTimes: Hashable, Sendable {
    /// In the background for this long.
    public var background = Duration.seconds(300)
    /// Nothing selected or entered for this long.
    public var inactivity = Duration.seconds(300)
    /// Nothing selected or entered for this long: the warning that comes before.
    public var warning = Duration.seconds(240)

    public init() {}
}

/// How far the use case "Set up a remote PIN" (UC2.1) has come; what is done is never asked again, also after a crash.
public enum SetupProgress: String, Hashable, Sendable, CaseIterable {
    /// Nothing is registered.
    case notStarted = "not-started"
    /// The PIN is registered; the screen that says so (1.5) was not confirmed.
    case registered
    /// The deletion code (1.6) was not confirmed as written down.
    case secured
    case done
}

/// An answer of the update policy that was kept for when the server cannot be reached (PF1.4).
public struct RememberedUpdate: Hashable, Sendable {
    public var verdict: UpdateVerdict
    public var receivedAt: Timestamp
    public var appVersion: AppVersion

    /// How long an answer other than `block` may serve.
    public static let lifetime: Duration = .seconds(24 * 3600)

    public init(verdict: UpdateVerdict, receivedAt: Timestamp, appVersion: AppVersion) {
        self.verdict = verdict
        self.receivedAt = receivedAt
        self.appVersion = appVersion
    }

    /// What it still says; nil where it says nothing any more.
    ///
    /// A block holds for the version it was given for, however old it is; every other answer for a day, and not after the
    /// clock was set back before it.
    public func verdict(at now: Timestamp, for version: AppVersion) -> UpdateVerdict? {
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
