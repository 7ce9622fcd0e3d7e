import WalletFlows
import FoundationEssentials
import HostSystem
import Secrets
import Testing
import Vocabulary

@testable import SimulatedPhone

@Suite("Simulated keychain")
struct KeychainTests {
    private let bench: LabBench
    private static let secret = Array("the wallet's thirty-two bytes...".utf8)

    init() throws {
        self.bench = try LabBench()
    }

    private func phone(_ change: (inout DeviceProfile) -> Void = { _ in }) throws -> SimulatedDevice {
        var profile = DeviceProfile(.android)
        profile.biometrics = .face
        profile.sensor = .ask
        change(&profile)
        return try self.bench.device(profile)
    }

    private func phone(with access: UnlockMethod) throws -> SimulatedDevice {
        let device = try self.phone()
        try device.keychain.add(SecretBytes(copying: Self.secret), as: "item", access: .any(access))
        return device
    }

    private func read(_ device: SimulatedDevice, _ presentation: Presentation) async throws(KeychainError) -> [UInt8] {
        // The means that the caller requests must not matter.
        try await device.keychain.read("item", Prompt(.unlock, accepts: .either), presentation).exposedBytes()
    }

    @Test(
        "an item is read by the means of its access",
        arguments: [
            (UnlockMethod.biometric, Presentation.match), (.passcode, .passcode), (.either, .match),
            (.either, .passcode),
        ]
    )
    func reading(access: UnlockMethod, presentation: Presentation) async throws {
        let device = try self.phone(with: access)
        #expect(try device.keychain.names() == ["item"])
        #expect(try await self.read(device, presentation) == Self.secret)
        #expect(try await self.read(self.phone(), presentation) == Self.secret)
    }

    struct Refused: Sendable {
        let access: UnlockMethod
        let presentation: Presentation
        let result: PromptResult
    }

    @Test(
        "an item is never read without its prompt",
        arguments: [
            Refused(access: .biometric, presentation: .mismatch, result: .rejected),
            Refused(access: .biometric, presentation: .passcode, result: .cancelled),
            Refused(access: .biometric, presentation: .cancel, result: .cancelled),
            Refused(access: .biometric, presentation: .byDevice, result: .cancelled),
            Refused(access: .passcode, presentation: .match, result: .cancelled),
            Refused(access: .passcode, presentation: .wrongPasscode, result: .rejected),
            Refused(access: .either, presentation: .mismatch, result: .rejected),
            Refused(access: .either, presentation: .wrongPasscode, result: .rejected),
            Refused(access: .either, presentation: .cancel, result: .cancelled),
        ]
    )
    func refused(_ item: Refused) async throws {
        let device = try self.phone(with: item.access)
        await #expect(throws: KeychainError.prompt(item.result)) { try await self.read(device, item.presentation) }
    }

    @Test("while the screen is locked no item is read or added, and no mismatch is counted")
    func screenLocked() async throws {
        let device = try self.phone(with: .biometric)
        try device.update { $0.isScreenLocked = true }
        for _ in 0..<6 { await #expect(throws: KeychainError.screenLocked) { try await self.read(device, .mismatch) } }
        #expect(throws: KeychainError.screenLocked) {
            try device.keychain.add(SecretBytes(copying: [1]), as: "other", access: .any(.passcode))
        }
        try device.unlockWithPasscode()
        #expect(try await self.read(device, .match) == Self.secret)
    }

    @Test(
        "an access that nothing could open is rejected",
        arguments: [
            (BiometricSupport.none, true, [UnlockMethod.biometric]), (.notEnrolled, true, [.biometric]),
            (.face, false, UnlockMethod.allCases),
        ]
    )
    func impossible(biometrics: BiometricSupport, passcode: Bool, refused: [UnlockMethod]) throws {
        let device = try self.phone {
            $0.biometrics = biometrics
            $0.hasPasscode = passcode
        }
        for access in UnlockMethod.allCases {
            do {
                try device.keychain.add(SecretBytes(copying: [1]), as: access.rawValue, access: .any(access))
                #expect(!refused.contains(access))
            } catch {
                #expect(error == .accessImpossible)
                #expect(refused.contains(access))
            }
        }
    }

    @Test("enrolling another finger keeps the item; without an enrolled finger it cannot be opened but remains")
    func enrollment() async throws {
        let device = try self.phone(with: .biometric)
        try device.update { $0.biometrics = .fingerprint }
        #expect(try await self.read(device, .match) == Self.secret)
        try device.update { $0.biometrics = .notEnrolled }
        await #expect(throws: KeychainError.prompt(.unavailable)) { try await self.read(device, .match) }
        #expect(try device.keychain.names() == ["item"])
        try device.update { $0.biometrics = .face }
        #expect(try await self.read(device, .match) == Self.secret)
    }

    @Test("five mismatches lock the sensor out for all later processes of the app until the passcode is entered")
    func lockout() async throws {
        let device = try self.phone(with: .biometric)
        for _ in 0..<5 {
            await #expect(throws: KeychainError.prompt(.rejected)) { try await self.read(device, .mismatch) }
        }
        let next = try self.phone()
        #expect(try next.isSensorLockedOut())
        await #expect(throws: KeychainError.prompt(.lockedOut)) { try await self.read(next, .match) }
        try next.unlockWithPasscode()
        #expect(try await self.read(self.phone(), .match) == Self.secret)
    }

    @Test("concurrent mismatches are all counted")
    func concurrentMismatches() async throws {
        let device = try self.phone()
        let results = try await withThrowingTaskGroup(of: PromptResult.self) { group in
            for _ in 0..<16 { group.addTask { try await device.authenticate(Prompt(.unlock), .mismatch) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 == .rejected } == 5)
        #expect(results.count { $0 == .lockedOut } == 11)
    }

    @Test("a removed item does not exist, a second item of a name is rejected, and an unknown one is not found")
    func names() async throws {
        let device = try self.phone(with: .biometric)
        #expect(throws: KeychainError.self) {
            try device.keychain.add(SecretBytes(copying: [1]), as: "item", access: .any(.passcode))
        }
        #expect(try await self.read(device, .match) == Self.secret)
        try device.keychain.remove("item")
        try device.keychain.remove("item")
        #expect(try device.keychain.names().isEmpty)
        await #expect(throws: KeychainError.notFound) { try await self.read(device, .match) }
    }

    @Test("no file of the phone contains an item's secret in plaintext, and only their owner can read them")
    func sealed() throws {
        let device = try self.phone(with: .biometric)
        _ = try device.recoveryCode()
        let folder = self.bench.folder + "/device"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(files) == ["profile.yaml", "keychain", "keychain-key", "owner"])
        for name in files {
            let text = String(decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self)
            #expect(!text.contains(String(decoding: Self.secret, as: UTF8.self)))
            #expect(!text.contains(Data(Self.secret).base64EncodedString()))
            #expect(try DurableFile.mode(of: "\(folder)/\(name)") == 0o600, "\(name)")
        }
    }

    @Test("an item whose access was edited in the file does not open")
    func editedAccess() async throws {
        let device = try self.phone(with: .biometric)
        let path = URL(filePath: self.bench.folder + "/device/keychain")
        let text = String(decoding: try Data(contentsOf: path), as: UTF8.self)
        #expect(text.contains("\"biometric\""))
        let edited = text.split(separator: "\"biometric\"", omittingEmptySubsequences: false)
            .joined(separator: "\"passcode\"")
        try Data(edited.utf8).write(to: path)
        await #expect(throws: KeychainError.self) { try await self.read(device, .passcode) }
    }

    @Test("damaged keychain files are reported and not replaced", arguments: ["keychain", "keychain-key", "sensor"])
    func brokenFiles(name: String) async throws {
        let device = try self.phone(with: .biometric)
        let path = URL(filePath: "\(self.bench.folder)/device/\(name)")
        try Data("[".utf8).write(to: path)
        await #expect(throws: KeychainError.self) { try await self.read(device, .match) }
        #expect(try Data(contentsOf: path) == Data("[".utf8))
    }

    @Test("a crash between key and items, at the first item or during a restore, leaves an empty keychain")
    func crashBetween() async throws {
        let device = try self.phone(with: .biometric)
        try DurableFile.remove(self.bench.folder + "/device/keychain")
        #expect(try device.keychain.names().isEmpty)
        try device.keychain.add(SecretBytes(copying: [7]), as: "item", access: .any(.biometric))
        #expect(try await self.read(device, .match) == [7])
    }

    @Test("a missing keychain key is reported and not replaced")
    func lostKey() async throws {
        let device = try self.phone(with: .biometric)
        try DurableFile.remove(self.bench.folder + "/device/keychain-key")
        await #expect(throws: KeychainError.self) { try await self.read(device, .match) }
        #expect(throws: KeychainError.self) {
            try device.keychain.add(SecretBytes(copying: [7]), as: "other", access: .any(.biometric))
        }
        #expect(try device.keychain.names() == ["item"])
    }

    @Test("a restore to another phone includes owner and profile but neither items nor hardware key")
    func restore() async throws {
        let device = try self.phone(with: .biometric)
        _ = try await device.createKey(challenge: self.bench.challenge)
        _ = try await device.authenticate(Prompt(.unlock), .mismatch)
        let copy = try device.restored(in: self.bench.folder + "/other")
        #expect(copy.profile == device.profile)
        #expect(try copy.recoveryCode() == device.recoveryCode())
        #expect(!copy.hasKey)
        #expect(try copy.keychain.names().isEmpty)
        await #expect(throws: KeychainError.notFound) { try await self.read(copy, .match) }
        #expect(try await self.read(device, .match) == Self.secret)
        #expect(device.hasKey)
    }

    @Test("moving to another phone removes items and key")
    func move() async throws {
        let device = try self.phone(with: .biometric)
        _ = try await device.createKey(challenge: self.bench.challenge)
        let code = try device.recoveryCode()
        try device.moveToAnotherPhone { $0.model = "Example Two" }
        #expect(!device.hasKey)
        #expect(try device.keychain.names().isEmpty)
        #expect(try device.recoveryCode() == code)
        #expect(try self.phone().model == "Example Two")
        try device.keychain.add(SecretBytes(copying: [7]), as: "item", access: .any(.biometric))
        #expect(try await self.read(device, .match) == [7])
    }

    @Test("each phone has a different and permanent owner unless the profile names one")
    func owners() async throws {
        let device = try self.phone()
        let code = try device.recoveryCode()
        #expect(try self.phone().recoveryCode() == code)
        #expect(try LabBench().device(DeviceProfile(.android)).recoveryCode() != code)
        let issuer = SimulatedIssuer(for: device)
        #expect(await issuer.obtain() == code)
        try device.update { $0.recoveryCode = "jan-de-vries" }
        #expect(await issuer.obtain()?.bytes == Array("jan-de-vries".utf8))
        for behavior in [DeviceProfile.IssuerBehavior.cancels, .fails] {
            try device.update { $0.issuer = behavior }
            #expect(await issuer.obtain() == nil)
        }
    }
}

extension SimulatedDevice {
    /// Returns whether the sensor is locked until the passcode is entered.
    fileprivate func isSensorLockedOut() throws -> Bool {
        PromptRules(profile: self.profile, mismatches: try self.files.mismatches()).isLockedOut
    }

    /// Creates another phone with the same owner in a separate folder, without any device-bound data.
    fileprivate func restored(in folder: String) throws -> SimulatedDevice {
        let owner = try self.files.owner()
        let new = try SimulatedDevice(
            folder: folder,
            authorityFolder: self.authorityFolder,
            clock: self.clock,
            new: self.profile
        )
        try new.moveToAnotherPhone()
        try new.files.write(Array("\(owner)\n".utf8), to: .owner)
        return new
    }
}
