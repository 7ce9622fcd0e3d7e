import AttestationVerifier
import Crypto
import WalletFlows
import SimulatedPhone
import Evidence
import FoundationEssentials
import Lab
import Testing
import Vocabulary

/// A lab's authority, a verifier that trusts it, and a folder for devices.
final class LabBench: Sendable {
    struct Clock: WallClock {
        func now() -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000) }
    }

    let folder: String
    let verifier: EvidenceVerifier
    let challenge = sha256(Array("token".utf8))

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "devices-\(WalletID.random())").path
        let authority = try LabAuthority.create(in: self.folder + "/authority")
        let app = AndroidApp(
            package: LabApp.androidPackage,
            signatureDigests: [LabApp.androidSigningDigest],
            minimumVersion: 50
        )
        var android = AndroidPolicy(apps: [app])
        android.minimumOSPatchLevel = PatchLevel("2024-01")
        android.minimumVendorPatchLevel = PatchLevel("2024-01")
        android.minimumBootPatchLevel = PatchLevel("2024-01")
        self.verifier = EvidenceVerifier(
            policy: AttestationPolicy(
                android: android,
                apple: ApplePolicy(apps: [AppleApp(id: "\(LabApp.iOSTeam).\(LabApp.iOSBundle)")])
            ),
            androidAnchors: [TrustAnchor(name: "lab", certificate: authority.androidRootCertificate)].compactMap { $0 },
            appleAnchors: [TrustAnchor(name: "lab", certificate: authority.appleRootCertificate)].compactMap { $0 },
            statusList: StatusList(json: Array(LabAuthority.statusList.utf8), fetched: Clock().now())
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func device(_ profile: DeviceProfile) throws -> SimulatedDevice {
        try SimulatedDevice(
            folder: self.folder + "/device",
            authorityFolder: self.folder + "/authority",
            clock: Clock(),
            new: profile
        )
    }

    func verify(
        _ evidence: DeviceEvidence,
        _ policy: AttestationPolicy? = nil
    ) -> Result<AttestedDevice, AttestationRefusal> {
        let verifier = EvidenceVerifier(
            policy: policy ?? self.verifier.policy,
            androidAnchors: self.verifier.androidAnchors,
            appleAnchors: self.verifier.appleAnchors,
            statusList: self.verifier.statusList
        )
        return switch evidence {
        case .android(let chain): verifier.verify(android: chain, challenge: self.challenge, at: Clock().now())
        case .apple(let object, let keyID):
            verifier.verify(
                appleObject: object,
                keyID: keyID,
                clientDataHash: self.challenge,
                at: Clock().now()
            )
        }
    }
}

@Suite("Simulated devices")
struct SimulatedDeviceTests {
    private let bench: LabBench

    init() throws {
        self.bench = try LabBench()
    }

    @Test("the evidence of a normal device is accepted with its facts", arguments: Platform.allCases)
    func healthy(platform: Platform) async throws {
        let device = try self.bench.device(DeviceProfile(platform))
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge)).get()
        #expect(attested.platform == platform)
        #expect(attested.appID == device.appID)
        #expect(attested.environment == (platform == .iOS ? .production : nil))
        if platform == .android {
            #expect(attested.osPatchLevel == 202_610)
            #expect(attested.brand == "Example")
            #expect(attested.provisioning == .factory)
            #expect(attested.json().contains(#""boot_state":"Verified""#))
        }
    }

    @Test("a StrongBox device and a remotely provisioned one are accepted")
    func variants() async throws {
        var profile = DeviceProfile(.android)
        profile.hasStrongBox = true
        profile.isRemotelyProvisioned = true
        let device = try self.bench.device(profile)
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge)).get()
        #expect(attested.securityLevel == "StrongBox")
        #expect(attested.provisioning == .remote)
    }

    struct FaultCase: Sendable, CustomTestStringConvertible {
        let fault: Fault
        let platform: Platform
        let reason: String
        var testDescription: String { "\(self.platform.rawValue) \(self.fault.rawValue): \(self.reason)" }

        /// The faults in the evidence; a reused counter appears in assertions.
        static let all = Platform.allCases.flatMap { platform in
            Fault.allCases.filter { $0 != .counterReused }.compactMap { fault in
                fault.reason(on: platform).map { FaultCase(fault: fault, platform: platform, reason: $0) }
            }
        }
    }

    @Test("each fault is rejected for its stated reason", arguments: FaultCase.all)
    func faults(_ item: FaultCase) async throws {
        var profile = DeviceProfile(item.platform)
        profile.fault = item.fault
        let device = try self.bench.device(profile)
        let result = self.bench.verify(try await device.createKey(challenge: self.bench.challenge))
        guard case .failure(let refusal) = result else {
            Issue.record("accepted")
            return
        }
        #expect(refusal.rawValue == item.reason)
    }

    @Test("a self-signed system is accepted only with its boot key")
    func selfSigned() async throws {
        var profile = DeviceProfile(.android)
        profile.fault = .selfSignedSystem
        let evidence = try await self.bench.device(profile).createKey(challenge: self.bench.challenge)
        var policy = self.bench.verifier.policy
        policy.android.bootStates = [.verified, .selfSigned]
        policy.android.bootKeys = [AndroidPhone.selfSignedBootKey]
        #expect(try self.bench.verify(evidence, policy).get().bootState == "SelfSigned")
        policy.android.bootKeys = [sha256([])]
        #expect(throws: AttestationRefusal.verifiedBootKey) { try self.bench.verify(evidence, policy).get() }
    }

    @Test("an Android device proves a statement with the attested key")
    func androidProof() async throws {
        let device = try self.bench.device(DeviceProfile(.android))
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge)).get()
        let proof = try await device.prove(statement: [1, 2, 3])
        let key = try P256.Signing.PublicKey(x963Representation: attested.deviceKey.bytes)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: proof)
        #expect(proof.count == 64)
        #expect(key.isValidSignature(signature, for: [1, 2, 3] as [UInt8]))
    }

    private func counter(of proof: [UInt8], by attested: AttestedDevice, after previous: UInt32)
        -> Result<UInt32, AttestationRefusal>
    {
        AssertionVerifier.verify(
            assertion: proof,
            clientDataHash: sha256([1, 2, 3]),
            key: attested.deviceKey,
            appID: attested.appID,
            previousCounter: previous
        ).map(\.counter)
    }

    @Test(
        "an iPhone states category and bundle version from iOS 27 on",
        arguments: [
            ("26.1", false, .missing), ("27", false, .value(.appStore)), ("27.0.1", true, .value(.development)),
            ("x", false, .missing),
        ] as [(String, Bool, AppAttestExtensions.Claim<ValidationCategory>)]
    )
    func launchFacts(
        version: String,
        isDevelopment: Bool,
        category: AppAttestExtensions.Claim<ValidationCategory>
    ) async throws {
        var profile = DeviceProfile(.iOS)
        profile.osVersion = version
        profile.usesDevelopmentService = isDevelopment
        let device = try self.bench.device(profile)
        var policy = self.bench.verifier.policy
        policy.apple.environments = Set(AppAttestEnvironment.allCases)
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge), policy).get()
        #expect(attested.extensions?.validationCategory ?? .missing == category)
        #expect(attested.appVersion == (category == .missing ? nil : LabApp.version))
        #expect(try await self.counter(of: device.prove(statement: [1, 2, 3]), by: attested, after: 0) == .success(1))
    }

    @Test("an iOS device's counter increases with each proof, also after a restart of the app")
    func counters() async throws {
        let device = try self.bench.device(DeviceProfile(.iOS))
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge)).get()
        #expect(try await self.counter(of: device.prove(statement: [1, 2, 3]), by: attested, after: 0) == .success(1))
        let reopened = try self.bench.device(DeviceProfile(.android))
        #expect(reopened.platform == .iOS)
        #expect(
            try await self.counter(of: reopened.prove(statement: [1, 2, 3]), by: attested, after: 1) == .success(2)
        )
    }

    @Test("a repeated counter, another statement and another app's id are rejected")
    func assertionRefusals() async throws {
        let device = try self.bench.device(DeviceProfile(.iOS))
        let attested = try self.bench.verify(await device.createKey(challenge: self.bench.challenge)).get()
        try device.update { $0.fault = .counterReused }
        _ = try await device.prove(statement: [1, 2, 3])
        let second = try await device.prove(statement: [1, 2, 3])
        #expect(self.counter(of: second, by: attested, after: 1) == .failure(.counterNotIncreased))
        let other = try await device.prove(statement: [4])
        #expect(self.counter(of: other, by: attested, after: 0) == .failure(.badSignature))
        try device.update { $0.appID = "OTHERTEAM1.org.example" }
        let stranger = try await device.prove(statement: [1, 2, 3])
        #expect(self.counter(of: stranger, by: attested, after: 0) == .failure(.rpIDMismatch))
    }

    @Test("concurrent proofs have different counters")
    func concurrentProofs() async throws {
        let device = try self.bench.device(DeviceProfile(.iOS))
        _ = try await device.createKey(challenge: self.bench.challenge)
        let counters = try await withThrowingTaskGroup(of: UInt32.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let proof = try AppAttestAssertion(decoding: await device.prove(statement: [1]))
                    return try AuthenticatorData(decoding: proof.authenticatorData, withCredential: false).counter
                }
            }
            return try await group.reduce(into: Set<UInt32>()) { $0.insert($1) }
        }
        #expect(counters == Set(1...16))
    }

    @Test("without a network an iPhone gets no attestation, and without a key no phone proves anything")
    func unavailable() async throws {
        var profile = DeviceProfile(.iOS)
        profile.hasNetwork = false
        let device = try self.bench.device(profile)
        await #expect(throws: DeviceError.attestationUnavailable) {
            try await device.createKey(challenge: self.bench.challenge)
        }
        #expect(!device.hasKey)
        await #expect(throws: DeviceError.noKey) { try await device.prove(statement: [1]) }
    }

    @Test("a deleted key does not exist, and deleting it again has no effect")
    func deletion() async throws {
        let device = try self.bench.device(DeviceProfile(.android))
        _ = try await device.createKey(challenge: self.bench.challenge)
        #expect(device.hasKey)
        try await device.deleteKey()
        try await device.deleteKey()
        #expect(!device.hasKey)
    }

    @Test("changes of the profile persist, including removed values")
    func profile() throws {
        let device = try self.bench.device(DeviceProfile(.android))
        try device.update { profile in
            profile.isRooted = true
            profile.vendorPatchLevel = nil
            profile.fault = .otherApp
            profile.osVersion = "16"
        }
        let copy = try self.bench.device(DeviceProfile(.iOS))
        #expect(copy.profile == device.profile)
        #expect(copy.isRooted)
    }

    @Test("invalid profile and key files are reported and not replaced", arguments: ["profile.yaml", "hardware-key"])
    func brokenFiles(name: String) async throws {
        let device = try self.bench.device(DeviceProfile(.android))
        _ = try await device.createKey(challenge: self.bench.challenge)
        let path = "\(self.bench.folder)/device/\(name)"
        try Data("[".utf8).write(to: URL(filePath: path))
        await #expect(throws: DeviceError.self) {
            try await self.bench.device(DeviceProfile(.android)).prove(statement: [1])
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("[".utf8))
    }
}
