import AttestationVerifier
import Evidence
import Lab
import Testing
import Vocabulary

@Suite("Android key attestation")
struct AndroidVerifierTests {
    private var item = AndroidCase()

    @Test("a valid attestation is accepted")
    func accepted() {
        #expect(self.item.refusal() == nil)
    }

    @Test("a server that accepts no Android app accepts no Android device")
    mutating func noApps() {
        self.item.policy.apps = []
        #expect(self.item.refusal() == .appNotConfigured)
    }

    @Test("another challenge is rejected, even if one is a prefix of the other")
    func challenge() {
        #expect(self.item.refusal(challenge: [1, 2, 3]) == .challengeMismatch)
        #expect(self.item.refusal(challenge: [1, 2, 3, 5]) == .challengeMismatch)
        #expect(self.item.refusal(challenge: []) == .challengeMismatch)
    }

    @Test(
        "each level satisfies itself and lower ones, and an unknown level satisfies none",
        arguments: [
            (.software, .software, nil), (.trustedEnvironment, .software, nil),
            (.software, .trustedEnvironment, .securityLevelTooLow), (.trustedEnvironment, .trustedEnvironment, nil),
            (.strongBox, .trustedEnvironment, nil), (.trustedEnvironment, .strongBox, .securityLevelTooLow),
            (.strongBox, .strongBox, nil), (.unknown(3), .software, .securityLevelTooLow),
            (.unknown(100), .strongBox, .securityLevelTooLow),
        ] as [(SecurityLevel, SecurityLevel, AttestationRefusal?)]
    )
    func levels(level: SecurityLevel, minimum: SecurityLevel, refusal: AttestationRefusal?) {
        var item = self.item
        item.level = level
        item.policy.minimumAttestationLevel = minimum
        item.policy.minimumKeyMintLevel = minimum
        #expect(item.refusal() == refusal)
    }

    @Test("the level of the attestation and that of the key both count")
    func bothLevels() {
        var item = self.item
        item.policy.minimumKeyMintLevel = .strongBox
        #expect(item.refusal() == .securityLevelTooLow)
        item = self.item
        item.policy.minimumAttestationLevel = .strongBox
        #expect(item.refusal() == .securityLevelTooLow)
    }

    @Test(
        "boot state and lock must be accepted by the policy",
        arguments: [
            (true, .verified, nil), (false, .verified, .deviceUnlocked), (true, .selfSigned, .verifiedBootState),
            (true, .unverified, .verifiedBootState), (true, .failed, .verifiedBootState),
            (true, .unknown(9), .verifiedBootState),
        ] as [(Bool, VerifiedBootState, AttestationRefusal?)]
    )
    func boot(isLocked: Bool, state: VerifiedBootState, refusal: AttestationRefusal?) {
        var item = self.item
        item.root?.isDeviceLocked = isLocked
        item.root?.verifiedBootState = state
        #expect(item.refusal() == refusal)
        item.policy.requiresLockedDevice = false
        item.policy.bootStates = []
        #expect(item.refusal() == nil)
    }

    @Test("a root of trust in the software-enforced list does not count")
    func softwareRootOfTrust() throws {
        var item = self.item
        item.software[.rootOfTrust] = .rootOfTrust(try #require(item.root))
        item.root = nil
        #expect(item.refusal() == .rootOfTrustMissing)
    }

    @Test("a self-signed system is accepted only if the policy allows the state and lists the whole key")
    func selfSigned() throws {
        let key = try #require(SHA256Digest([UInt8](1...32)))
        var item = self.item
        item.root?.verifiedBootState = .selfSigned
        item.root?.verifiedBootKey = key.bytes
        item.policy.bootKeys = [sha256([]), key]
        #expect(item.refusal() == .verifiedBootState)
        item.policy.bootStates = [.verified, .selfSigned]
        #expect(item.refusal() == nil)
        let zeros = [UInt8](repeating: 0, count: 32)
        let others: [[UInt8]] = [
            [], [1], key.bytes.dropLast(), key.bytes + [0], key.bytes.reversed(), zeros,
        ]
        for other in others {
            item.root?.verifiedBootKey = other
            #expect(item.refusal() == .verifiedBootKey, "\(other)")
        }
        item.policy.bootKeys = []
        item.root?.verifiedBootKey = key.bytes
        #expect(item.refusal() == .verifiedBootKey)
        // The key of the manufacturer is in the bootloader.
        item.root?.verifiedBootState = .verified
        #expect(item.refusal() == nil)
    }

    struct KeyCase: Sendable {
        let tag: AuthorizationTag
        let value: AuthorizationList.Value?
        let refusal: AttestationRefusal?
    }

    @Test(
        "the key must be generated in hardware, sign SHA-256 and belong to one app",
        arguments: [
            KeyCase(tag: .origin, value: .integer(2), refusal: .keyOrigin),
            KeyCase(tag: .origin, value: nil, refusal: .keyOrigin),
            KeyCase(tag: .purpose, value: .integers([2, 3]), refusal: nil),
            KeyCase(tag: .purpose, value: .integers([7]), refusal: .keyPurpose),
            KeyCase(tag: .purpose, value: nil, refusal: .keyPurpose),
            KeyCase(tag: .digest, value: .integers([0, 4]), refusal: nil),
            KeyCase(tag: .digest, value: .integers([0]), refusal: .keyDigest),
            KeyCase(tag: .digest, value: nil, refusal: .keyDigest),
            KeyCase(tag: .allApplications, value: .present, refusal: .allApplications),
        ]
    )
    func keys(_ rule: KeyCase) {
        var item = self.item
        item.hardware[rule.tag] = rule.value
        #expect(item.refusal() == rule.refusal)
    }

    @Test("software-enforced properties of the key do not count, except that all apps may use it")
    func softwareList() {
        var item = self.item
        item.hardware[.origin] = nil
        item.software[.origin] = .integer(0)
        #expect(item.refusal() == .keyOrigin)
        item = self.item
        item.software[.allApplications] = .present
        #expect(item.refusal() == .allApplications)
    }

    struct PatchCase: Sendable {
        let number: Int128?
        let minimum: String
        let isReached: Bool
    }

    @Test(
        "each patch level may be a month or a day; one that is not stated or not a date is too old",
        arguments: [
            PatchCase(number: 202_610, minimum: "2025-01-01", isReached: true),
            PatchCase(number: 202_501, minimum: "2025-01", isReached: true),
            PatchCase(number: 202_412, minimum: "2025-01-01", isReached: false),
            PatchCase(number: 20_250_105, minimum: "2025-01-05", isReached: true),
            PatchCase(number: 20_250_104, minimum: "2025-01-05", isReached: false),
            // A day of 2015 is not compared with a month as a number.
            PatchCase(number: 20_150_101, minimum: "2025-01", isReached: false),
            PatchCase(number: 202_501, minimum: "2025-01-05", isReached: false),
            PatchCase(number: 20_250_100, minimum: "2025-01-01", isReached: true),
            PatchCase(number: nil, minimum: "2000-01", isReached: false),
            PatchCase(number: 0, minimum: "2000-01", isReached: false),
            PatchCase(number: -202_610, minimum: "2000-01", isReached: false),
            PatchCase(number: 202_613, minimum: "2000-01", isReached: false),
            PatchCase(number: 20_269_900, minimum: "2000-01", isReached: false),
            PatchCase(number: 20_260_230, minimum: "2000-01", isReached: false),
            PatchCase(number: 2_147_483_647, minimum: "2000-01", isReached: false),
            PatchCase(number: .max, minimum: "2000-01", isReached: false),
        ]
    )
    func patchLevels(_ rule: PatchCase) throws {
        let levels: [(AuthorizationTag, WritableKeyPath<AndroidPolicy, PatchLevel?>, AttestationRefusal)] = [
            (.osPatchLevel, \.minimumOSPatchLevel, .patchLevelTooOld),
            (.vendorPatchLevel, \.minimumVendorPatchLevel, .vendorPatchLevelTooOld),
            (.bootPatchLevel, \.minimumBootPatchLevel, .bootPatchLevelTooOld),
        ]
        let least: PatchLevel = try #require(PatchLevel(rule.minimum))
        for (tag, minimum, refusal) in levels {
            var item = self.item
            item.hardware[tag] = rule.number.map { .integer($0) }
            #expect(item.refusal() == nil, "without a minimum it is not checked")
            // The operating system's own claim does not count.
            item.software[tag] = .integer(209_901)
            item.policy[keyPath: minimum] = least
            #expect(item.refusal() == (rule.isReached ? nil : refusal))
        }
    }

    @Test("package, signer and version must belong to one configured app")
    func apps() {
        var item = self.item
        let other: [UInt8] = Array(repeating: 0xCD, count: 32)
        item.policy.apps = [
            AndroidApp(package: "org.example.wallet", signatureDigests: [AndroidCase.digest], minimumVersion: 100),
            AndroidApp(package: "org.example.other", signatureDigests: [other]),
        ]
        #expect(item.refusal() == nil)
        item.digests = [other]
        #expect(item.refusal() == .signatureDigestMismatch, "the signer of another configured app is not this one's")
        item.digests = [other, AndroidCase.digest]
        item.packages[0].version = 99
        #expect(item.refusal() == .appVersionTooOld)
        item.packages = [.init(name: "org.example.walle", version: 100), .init(name: "", version: 1)]
        #expect(item.refusal() == .packageMismatch)
        item.packages = []
        #expect(item.refusal() == .packageMismatch)
    }

    @Test("the policy must allow the kind of the key")
    func keyKind() {
        var item = self.item
        item.policy.allowedKeys = ["EC-P-384"]
        #expect(item.refusal() == .keyTypeNotAllowed)
        item.policy.allowedKeys = nil
        #expect(item.refusal() == nil)
    }

    @Test("the chain shows the kind of provisioning, which is rejected if the policy does not allow it")
    func provisioning() {
        var item = self.item
        item.policy.provisioning = [.factory]
        #expect(item.refusal() == nil)
        item.batch = .remote
        #expect(item.refusal() == .provisioningNotAllowed)
        item.policy.provisioning = [.remote]
        #expect(item.refusal() == nil)
    }
}
