import AttestationVerifier
import Evidence
import Lab
import Testing
import Vocabulary

@Suite("Explanations of evidence for operators")
struct ExplanationTests {
    private func explanation(_ item: AndroidCase, challenge: [UInt8]? = [1, 2, 3, 4]) -> EvidenceExplanation {
        EvidenceExplanation(android: item.chain, challenge: challenge, at: item.time, by: item.verifier)
    }

    @Test("valid evidence passes every check")
    func good() {
        let explanation = self.explanation(AndroidCase())
        #expect(explanation.refusal == nil)
        #expect(explanation.checks.map(\.name) == AndroidVerifier.Check.allCases.map(\.rawValue))
        #expect(explanation.checks.allSatisfy { $0.outcome == .passed })
        #expect(explanation.certificates.count == 4)
        #expect(explanation.description.hasSuffix("accepted\n"))
    }

    @Test("the first check that fails is named; earlier ones have passed and later ones were not reached")
    func unlocked() throws {
        var item = AndroidCase()
        item.root?.isDeviceLocked = false
        let explanation = self.explanation(item)
        #expect(explanation.refusal == .deviceUnlocked)
        let failed = try #require(explanation.checks.firstIndex { $0.outcome == .failed(.deviceUnlocked) })
        #expect(explanation.checks[failed].name == AndroidVerifier.Check.boot.rawValue)
        #expect(explanation.checks[..<failed].allSatisfy { $0.outcome == .passed })
        #expect(explanation.checks[(failed + 1)...].allSatisfy { $0.outcome == .notReached })
        #expect(explanation.description.contains("Verified, the device is unlocked"))
        #expect(
            explanation.description.contains("refused: device_unlocked\n" + AttestationRefusal.deviceUnlocked.advice)
        )
    }

    @Test("without a challenge the evidence's own is used, and the explanation says so")
    func noChallenge() {
        var item = AndroidCase()
        item.challenge = [9]
        #expect(self.explanation(item).refusal == .challengeMismatch)
        let explanation = self.explanation(item, challenge: nil)
        #expect(explanation.refusal == nil)
        #expect(explanation.description.contains("not compared: none was given"))
    }

    @Test("a patch level is shown as a date, or as a number that is not a date")
    func patchLevels() {
        var item = AndroidCase()
        item.hardware[.vendorPatchLevel] = .integer(20_261_005)
        item.hardware[.bootPatchLevel] = .integer(20_269_900)
        let text = self.explanation(item).description
        #expect(text.contains("OS patch level       2026-10, without a day"), "\(text)")
        #expect(text.contains("vendor patch level   2026-10-05\n"), "\(text)")
        #expect(text.contains("boot patch level     20269900, which is not a date"), "\(text)")
    }

    @Test("the boot key is shown, whether the system is accepted or not")
    func bootKey() {
        var item = AndroidCase()
        item.root?.verifiedBootKey = [0xAB, 0xCD]
        #expect(self.explanation(item).description.contains("boot key             abcd\n"))
        item.root?.verifiedBootState = .selfSigned
        item.policy.bootStates = [.selfSigned]
        let explanation = self.explanation(item)
        #expect(explanation.refusal == .verifiedBootKey)
        #expect(explanation.description.contains("boot key             abcd\n"))
    }

    @Test("text in the evidence cannot move the cursor or start a new line")
    func hostileText() {
        var item = AndroidCase()
        item.packages = [ApplicationID.Package(name: "a\u{1B}[2J\n  pass  x\u{202E}", version: 1)]
        let text = self.explanation(item).description
        #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}") && !text.contains("\n  pass  x"))
    }

    @Test("unreadable evidence is explained too", arguments: [[], [[]], [[0x30]], [[1, 2, 3], [4]]] as [[[UInt8]]])
    func junk(chain: [[UInt8]]) {
        let item = AndroidCase()
        let explanation = EvidenceExplanation(android: chain, challenge: nil, at: item.time, by: item.verifier)
        #expect(explanation.refusal != nil)
        #expect(explanation.description.contains("FAIL"))
        let apple = EvidenceExplanation(
            appleObject: chain.first ?? [],
            keyID: nil,
            clientDataHash: [],
            at: item.time,
            by: AppleVerifier(policy: ApplePolicy(apps: [AppleApp(id: "x")]), anchors: TrustAnchor.apple)
        )
        #expect(apple.refusal == .malformedCBOR)
    }

    @Test("what an iPhone states about its app is shown, or that it states nothing")
    func launchFacts() {
        func text(_ extensions: AppAttestExtensions?) -> String {
            let key = AppAttestKey(AndroidCase.key, appID: "x")
            let assertion = key.assertion(for: sha256([1]), counter: 1, extensions: extensions)
            return EvidenceExplanation(
                assertion: assertion.encoded,
                clientDataHash: sha256([1]).bytes,
                key: key.key.publicKey,
                appID: "x",
                previousCounter: 0
            ).description
        }
        let stated = text(AppAttestExtensions(validationCategory: .appStore, bundleVersion: "1314"))
        #expect(stated.contains("validation category  app-store\n") && stated.contains("bundle version       1314\n"))
        let silent = text(nil)
        #expect(silent.contains("validation category  not stated\n"))
        #expect(silent.contains("bundle version       not stated\n"))
    }

    @Test("the requirements for iOS apps are described in sentences")
    func iOSPolicy() {
        var policy = ApplePolicy(apps: [AppleApp(id: "T.x", minimumVersion: BundleVersion("1314"))])
        policy.categories = [.testFlight, .appStore]
        let verifier = EvidenceVerifier(policy: AttestationPolicy(android: AndroidPolicy(apps: []), apple: policy))
        let text = verifier.sentences(at: AndroidCase.now).joined(separator: "\n")
        for part in [
            "the app T.x, bundle version 1314 or later, attested in", "must be app-store or testflight.",
            "as before iOS 27, is refused.",
        ] {
            #expect(text.contains(part), "\(text)")
        }
    }

    @Test("the policy is described in sentences that name apps, roots, levels and the list's age")
    func policy() throws {
        var android = AndroidPolicy(
            apps: [AndroidApp(package: "org.example.wallet", signatureDigests: [[0xAB]], minimumVersion: 7)]
        )
        android.minimumOSPatchLevel = PatchLevel("2025-01")
        android.bootStates = [.verified, .selfSigned]
        android.bootKeys = [sha256([])]
        android.statusList = StatusListPolicy(maximumAge: .seconds(86_400))
        let list = try #require(StatusList(json: Array(LabAuthority.statusList.utf8), fetched: AndroidCase.now))
        let verifier = EvidenceVerifier(
            policy: AttestationPolicy(android: android, apple: ApplePolicy(apps: [])),
            statusList: list
        )
        let text = verifier.sentences(at: AndroidCase.now + .seconds(7200)).joined(separator: "\n")
        for part in [
            "org.example.wallet, version code 7 or later, signed with ab.", "2025-01 or later",
            "boot state must be SelfSigned or Verified",
            "self-signed system must be signed with \(sha256([])).", "google-rsa (SHA-256 of the key feb2ea75",
            "names 2 certificates and is 2 h old; after 24 h Android", "No iOS device can register",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        let stale = verifier.sentences(at: AndroidCase.now + .seconds(90_000)).joined()
        #expect(stale.contains("it is stale: Android registrations are refused"))
    }
}
