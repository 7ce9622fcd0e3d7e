internal import HostSystem
internal import Lab
package import DeviceInterface
internal import Synchronization
package import Vocabulary

/// A phone in a folder (docs/devices.md).
///
/// It makes the vendors' real formats under the roots of a lab's authority, and can be told to do it wrong
/// (``Fault``). The folder stands for what never leaves a phone; its files are readable by their owner alone.
package final class SimulatedDevice: Device {
    let files: DeviceFiles
    let authorityFolder: String
    let clock: any WallClock
    /// The lock is held while files are changed, so that no two proofs carry the same counter and no two prompts count
    /// as one.
    private let state: Mutex<DeviceProfile>

    /// Opens the device in `folder`, or makes one of this profile where there is none.
    ///
    /// - Parameters:
    ///   - authorityFolder: Where the lab's authority lies; read when a key is made, not before.
    ///   - clock: The lab's clock, by which device certificates are dated.
    package init(
        folder: String,
        authorityFolder: String,
        clock: any WallClock,
        new profile: DeviceProfile = DeviceProfile(.android)
    ) throws(DeviceError) {
        self.files = DeviceFiles(folder: folder)
        self.authorityFolder = authorityFolder
        self.clock = clock
        self.state = Mutex(try self.files.profile(orNew: profile))
    }

    /// What the device is at this moment.
    package var profile: DeviceProfile { self.state.withLock { $0 } }

    /// Changes what the device is, also for later lives of the app.
    ///
    /// Nothing is changed where the platform would be another: a phone keeps its own.
    package func update(_ change: (inout DeviceProfile) -> Void) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in change(&profile) }
    }

    /// Works on the profile alone, and writes it where it was changed.
    func withState<Result: ~Copyable>(
        _ body: (inout DeviceProfile) throws(DeviceError) -> Result
    ) throws(DeviceError) -> Result {
        try self.state.withLock { (profile) throws(DeviceError) in
            var changed = profile
            let result = try body(&changed)
            guard changed.platform == profile.platform else {
                throw .storage("this phone is \(profile.platform.rawValue), and stays so")
            }
            if changed != profile { try self.files.write(changed) }
            profile = changed
            return result
        }
    }

    /// Holds the profile still while `body` works on other files.
    func withProfile<Result: ~Copyable, Failure: Error>(
        _ body: (DeviceProfile) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.state.withLock { (profile) throws(Failure) in try body(profile) }
    }

    package var platform: Platform { self.profile.platform }
    package var osVersion: String { self.profile.osVersion }
    package var model: String { self.profile.model }
    package var isRooted: Bool { self.profile.isRooted }
    package var hasNetwork: Bool { self.profile.hasNetwork }
    package var appID: String { self.profile.appID }
    package var appVersion: String { self.profile.appVersion }
    package var hasKey: Bool { DurableFile.exists(self.files.path(.hardwareKey)) }

    package var biometrics: BiometricSupport { self.profile.usableBiometrics }
    package var hasPasscode: Bool { self.profile.hasPasscode }
    package var answersPrompts: Bool { self.profile.sensor != .ask }
    package var keychain: any Keychain { SimulatedKeychain(device: self, responder: self) }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        try await self.ask(prompt, presentation)
    }
}
