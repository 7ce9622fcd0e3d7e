internal import HostSystem
package import DeviceInterface
internal import Synchronization
package import Vocabulary

/// The simulated hardware and operating system of a phone, stored in a folder (docs/devices.md).
///
/// Its evidence uses the vendors' real formats, but chains to a lab authority's roots. A ``Fault`` adds a defect to it.
/// The folder contains the data that would never leave a phone, so its files can only be read by their owner.
package final class SimulatedDevice: Device {
    let files: DeviceFiles
    let authorityFolder: String
    let clock: any WallClock
    /// The current profile.
    ///
    /// The lock must be held while files are changed. Otherwise, concurrent proofs would share a counter, and
    /// concurrent mismatches would be counted only once.
    private let state: Mutex<DeviceProfile>

    /// Opens the device in `folder`, or creates one with the given profile.
    ///
    /// - Parameters:
    ///   - authorityFolder: The folder of the lab's authority. Only read when a key is created.
    ///   - clock: The lab's clock, which dates device certificates and measures ``uptime``. The phone's owner cannot
    ///     set it.
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

    package var uptime: Duration { .milliseconds(self.clock.now().milliseconds) }

    /// The current profile.
    package var profile: DeviceProfile { self.state.withLock { $0 } }

    /// Durably changes the profile.
    ///
    /// If `change` sets a different platform, this throws and changes nothing.
    package func update(_ change: (inout DeviceProfile) -> Void) throws(DeviceError) {
        try self.withState { (profile) throws(DeviceError) in change(&profile) }
    }

    /// Calls `body` with exclusive access to the profile and stores any changes.
    func withState<Result: ~Copyable>(
        _ body: (inout DeviceProfile) throws(DeviceError) -> Result
    ) throws(DeviceError) -> Result {
        try self.state.withLock { (profile) throws(DeviceError) in
            var changed = profile
            let result = try body(&changed)
            guard changed.platform == profile.platform else {
                throw .storage("the platform of this phone is \(profile.platform.rawValue) and cannot be changed")
            }
            if changed != profile { try self.files.write(changed) }
            profile = changed
            return result
        }
    }

    /// Calls `body` while preventing changes to the profile.
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
