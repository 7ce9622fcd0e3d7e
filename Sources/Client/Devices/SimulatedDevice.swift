internal import Evidence
internal import Lab
internal import Synchronization
internal import HostSystem
public import Presence
public import Vocabulary

/// A phone in a folder: what it is (`profile.yaml`) and its hardware key (`hardware-key`).
///
/// It makes the vendors' real formats under the roots of a lab's authority, and can be told to do it wrong
/// (``Fault``). The folder stands for what never leaves a phone; its files are readable by their owner alone.
public final class SimulatedDevice: Device {
    private let folder: String
    private let authorityFolder: String
    private let clock: any WallClock
    /// The lock is held while a proof is made, so that no two proofs carry the same counter.
    private let state: Mutex<DeviceProfile>

    /// Opens the device in `folder`, or makes one of this profile where there is none.
    ///
    /// - Parameters:
    ///   - authorityFolder: Where the lab's authority lies; read when a key is made, not before.
    ///   - clock: The lab's clock, by which device certificates are dated.
    public init(
        folder: String,
        authorityFolder: String,
        clock: any WallClock,
        new profile: DeviceProfile = DeviceProfile(.android)
    ) throws(DeviceError) {
        self.folder = folder
        self.authorityFolder = authorityFolder
        self.clock = clock
        self.state = Mutex(try Self.profile(in: folder, orNew: profile))
    }

    /// What the device is at this moment.
    public var profile: DeviceProfile { self.state.withLock { $0 } }

    /// Changes what the device is, also for later lives of the app.
    public func update(_ change: (inout DeviceProfile) -> Void) throws(DeviceError) {
        try self.state.withLock { (profile) throws(DeviceError) in
            var changed = profile
            change(&changed)
            try Self.write(changed, in: self.folder)
            profile = changed
        }
    }

    public var platform: Platform { self.profile.platform }
    public var osVersion: String { self.profile.osVersion }
    public var model: String { self.profile.model }
    public var isRooted: Bool { self.profile.isRooted }
    public var hasNetwork: Bool { self.profile.hasNetwork }
    public var appID: String { self.profile.appID }
    public var appVersion: String { self.profile.appVersion }
    public var hasKey: Bool { DurableFile.exists(self.keyPath) }

    public var biometrics: BiometricSupport { .none }
    public var hasPasscode: Bool { false }
    public var answersPrompts: Bool { true }
    public var keychain: any Keychain { NoKeychain() }

    public func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        .unavailable
    }

    public func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try self.state.withLock { (profile) throws(DeviceError) in
            let authority: LabAuthority
            do throws(LabAuthorityError) {
                authority = try LabAuthority.load(from: self.authorityFolder)
            } catch {
                throw .attestationUnavailable
            }
            let request = AttestationRequest(
                profile: profile,
                challenge: profile.fault == .wrongChallenge ? sha256(challenge.bytes) : challenge,
                authority: authority,
                time: self.clock.now()
            )
            switch profile.platform {
            case .android:
                let (key, chain) = request.androidKey()
                try key.write(to: self.keyPath)
                return .android(chain)
            case .iOS:
                guard profile.hasNetwork else { throw .attestationUnavailable }
                let (key, object, keyID) = request.appAttestKey()
                try key.write(to: self.keyPath)
                return .apple(object: object, keyID: keyID)
            }
        }
    }

    public func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try self.state.withLock { (profile) throws(DeviceError) in
            guard var key = try HardwareKey.read(self.keyPath) else { throw .noKey }
            switch profile.platform {
            case .android:
                return key.key.signature(for: statement).bytes
            case .iOS:
                if profile.fault != .counterReused || key.counter == 0 {
                    key.counter += 1
                    try key.write(to: self.keyPath)
                }
                return key.assertion(for: sha256(statement), appID: profile.appID)
            }
        }
    }

    public func deleteKey() async throws(DeviceError) {
        try self.state.withLock { (_) throws(DeviceError) in
            do throws(FileError) {
                try DurableFile.remove(self.keyPath)
            } catch .notFound {
                return
            } catch {
                throw .storage(error.description)
            }
        }
    }

    private var keyPath: String { self.folder + "/hardware-key" }

    private static func profile(in folder: String, orNew new: DeviceProfile) throws(DeviceError) -> DeviceProfile {
        let path = folder + "/profile.yaml"
        let text: String
        do throws(FileError) {
            text = String(decoding: try DurableFile.read(path, atMost: 65_536), as: UTF8.self)
        } catch .notFound {
            try self.write(new, in: folder)
            return new
        } catch {
            throw .storage(error.description)
        }
        guard let profile = DeviceProfile(yaml: text) else { throw .storage("\(path): not a device's profile") }
        return profile
    }

    private static func write(_ profile: DeviceProfile, in folder: String) throws(DeviceError) {
        guard let text = try? profile.yaml else { throw .storage("the profile cannot be written as YAML") }
        do throws(FileError) {
            try DurableFile.makeFolder(folder)
            try DurableFile.write(Array(text.utf8), to: folder + "/profile.yaml")
        } catch {
            throw .storage(error.description)
        }
    }
}
