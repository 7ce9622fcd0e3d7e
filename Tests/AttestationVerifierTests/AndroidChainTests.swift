import AttestationVerifier
import Evidence
import Lab
import Testing
import Vocabulary

@Suite("The chains of Android key attestations")
struct AndroidChainTests {
    private let item = AndroidCase()

    @Test("a change of any byte of a certificate below the root is rejected")
    func tampering() {
        let chain = self.item.chain
        for index in 0..<chain.count - 1 {
            for position in stride(from: index, to: chain[index].count, by: 7) {
                var changed = chain
                changed[index][position] ^= 0x04
                #expect(self.item.refusal(of: changed) != nil, "byte \(position) of certificate \(index)")
            }
        }
    }

    @Test("missing, exchanged, repeated and added certificates are rejected")
    func order() {
        let chain = self.item.chain
        #expect(self.item.refusal(of: []) == .incompleteChain)
        #expect(self.item.refusal(of: [chain[0]]) == .incompleteChain)
        #expect(self.item.refusal(of: Array(chain.dropLast())) == .incompleteChain)
        #expect(self.item.refusal(of: chain.reversed()) == .issuerMismatch)
        #expect(self.item.refusal(of: [chain[0], chain[2], chain[3]]) == .issuerMismatch)
        #expect(self.item.refusal(of: [chain[0]] + chain) == .issuerMismatch)
        #expect(self.item.refusal(of: [chain[1], chain[2], chain[3]]) == .missingExtension)
        #expect(self.item.refusal(of: chain + [chain[0]]) == .issuerMismatch)
    }

    @Test(
        "a repeated root, which signs itself, does not turn another chain into a factory chain",
        arguments: [AndroidBatch.factory, .remote, .expired]
    )
    func repeatedRoot(batch: AndroidBatch) {
        var item = self.item
        item.batch = batch
        let root = item.chain.suffix(1)
        // The validity of its certificates is over by then; that of a factory chain would not be checked.
        if batch == .remote { item.time = Timestamp(milliseconds: 2_900_000_000_000) }
        #expect(item.refusal(of: item.chain + root) == .issuerMismatch)
        #expect(item.refusal(of: item.chain + root + root) == .issuerMismatch)
    }

    @Test("a root is trusted by its key, not by its name")
    func sameName() {
        var stranger = self.item
        stranger.batch = .unknownRoot
        #expect(self.item.refusal(of: stranger.chain) == .untrustedRoot)
        let mixed = Array(stranger.chain.dropLast()) + [AndroidCase.authority.androidRootCertificate]
        #expect(self.item.refusal(of: mixed) == .badSignature)
    }

    @Test(
        "no signature of a forged chain is checked; in one that ends at the root, only those up to the first bad one"
    )
    func cost() {
        var stranger = self.item
        stranger.batch = .unknownRoot
        func checks(of chain: [[UInt8]]) -> Int {
            var verification = Verification()
            _ = try? self.item.verifier.verify(
                chain: chain,
                challenge: self.item.challenge,
                at: self.item.time,
                verification: &verification
            )
            return verification.signatureChecks
        }
        #expect(checks(of: stranger.chain) == 0)
        #expect(checks(of: Array(stranger.chain.dropLast()) + [AndroidCase.authority.androidRootCertificate]) == 1)
        #expect(checks(of: self.item.chain) == self.item.chain.count - 1)
    }

    @Test("Google's anchors are trusted by the hash of their keys; a lab's root is not among them")
    func googleAnchors() {
        #expect(TrustAnchor.google.count == 2)
        var verification = Verification()
        let verifier = AndroidVerifier(policy: self.item.policy, anchors: TrustAnchor.google)
        #expect(throws: AttestationRefusal.untrustedRoot) {
            try verifier.verify(
                chain: self.item.chain,
                challenge: self.item.challenge,
                at: AndroidCase.now,
                verification: &verification
            )
        }
    }

    @Test("a genuine signing key that certifies its holder's own key is rejected, with or without attestation keys")
    func forgedExtension() {
        let own = SigningKey()
        let forged = AndroidCase.certificate(for: own, signedBy: AndroidCase.key, description: self.item.description)
        #expect(self.item.refusal(of: [forged] + self.item.chain) == .unexpectedExtension)
        var lenient = self.item
        lenient.policy.allowsAttestKeys = true
        #expect(lenient.refusal(of: [forged] + lenient.chain) == .unexpectedExtension)
    }

    @Test("an attestation key may attest if the policy allows it, at the required level")
    func attestKeys() {
        var issuer = self.item
        issuer.hardware[.purpose] = .integers([7])
        let own = SigningKey()
        let leaf = AndroidCase.certificate(for: own, signedBy: AndroidCase.key, description: self.item.description)
        let chain = [leaf] + issuer.chain
        #expect(self.item.refusal(of: chain) == .unexpectedExtension)
        var lenient = self.item
        lenient.policy.allowsAttestKeys = true
        #expect(lenient.refusal(of: chain) == nil)
        issuer.level = .software
        #expect(lenient.refusal(of: [leaf] + issuer.chain) == .securityLevelTooLow)
    }

    @Test(
        "an attestation key with which its owner could sign anything is rejected",
        arguments: [
            ("imported", .keyOrigin), ("origin unstated", .keyOrigin), ("signing as well", .unexpectedExtension),
            ("unlocked", .deviceUnlocked), ("system not verified", .verifiedBootState), ("app", .packageMismatch),
        ] as [(String, AttestationRefusal)]
    )
    func looseAttestKey(what: String, refusal: AttestationRefusal) {
        var issuer = self.item
        issuer.policy.allowsAttestKeys = true
        issuer.hardware[.purpose] = .integers([7])
        let leaf = AndroidCase.certificate(
            for: SigningKey(),
            signedBy: AndroidCase.key,
            description: self.item.description
        )
        #expect(issuer.refusal(of: [leaf] + issuer.chain) == nil)
        switch what {
        case "imported": issuer.hardware[.origin] = .integer(2)
        case "origin unstated":
            issuer.hardware[.origin] = nil
            // Independent of the policy for the app's own keys.
            issuer.policy.requiresGeneratedKey = false
        case "signing as well": issuer.hardware[.purpose] = .integers([2, 7])
        case "unlocked": issuer.root?.isDeviceLocked = false
        case "system not verified": issuer.root?.verifiedBootState = .unverified
        default: issuer.packages = [ApplicationID.Package(name: "org.example.other", version: 100)]
        }
        #expect(issuer.refusal(of: [leaf] + issuer.chain) == refusal)
    }

    @Test("a description is rejected if the leaf has none")
    func extensionBehindGap() {
        let own = SigningKey()
        let plain = AndroidCase.certificate(for: own, signedBy: AndroidCase.key)
        #expect(self.item.refusal(of: [plain] + self.item.chain) == .unexpectedExtension)
    }

    @Test(
        "validity is checked as the policy says",
        arguments: [
            (.google, .expired, .certificateExpired), (.google, .notYetValid, .certificateNotYetValid),
            (.google, .remote, nil), (.strict, .remote, nil), (.strict, .expired, .certificateExpired),
        ] as [(AndroidPolicy.Validity, AndroidBatch, AttestationRefusal?)]
    )
    func validity(policy: AndroidPolicy.Validity, batch: AndroidBatch, refusal: AttestationRefusal?) {
        var item = self.item
        item.policy.validity = policy
        item.batch = batch
        #expect(item.refusal() == refusal)
    }

    @Test("an expired factory chain and an expired leaf pass under Google's policy and fail under the strict one")
    func expiredFactory() {
        var item = self.item
        item.time = Timestamp(milliseconds: 2_900_000_000_000)
        #expect(item.refusal() == nil)
        item.policy.validity = .strict
        #expect(item.refusal() == .certificateExpired)
    }

    @Test("a certificate in the status list is rejected in any spelling of the serial number")
    func statusList() throws {
        let leafless = try Certificate(decoding: self.item.chain[1]).serialNumber
        for (status, refusal) in [
            ("REVOKED", AttestationRefusal.revoked), ("SUSPENDED", .suspended), ("SOMETHING", .revoked),
        ] {
            for serial in [leafless, leafless.uppercased(), "000" + leafless] {
                var item = self.item
                let json = #"{"entries": {"\#(serial)": {"status": "\#(status)", "reason": "KEY_COMPROMISE"}}}"#
                item.statusList = StatusList(json: Array(json.utf8), fetched: item.time)
                #expect(item.statusList != nil)
                #expect(item.refusal() == refusal)
            }
        }
    }

    @Test("a list with a longer or shorter serial number rejects no device")
    func otherSerials() throws {
        let serial = try Certificate(decoding: self.item.chain[1]).serialNumber
        var item = self.item
        let json =
            #"{"entries": {"\#(serial.dropLast())": {"status": "REVOKED"}, "f\#(serial)": {"status": "REVOKED"}}}"#
        item.statusList = StatusList(json: Array(json.utf8), fetched: item.time)
        #expect(item.statusList != nil)
        #expect(item.statusList?.count == 2)
        #expect(item.refusal() == nil)
    }

    @Test("a list that is too old or missing causes a rejection or a warning, as configured")
    func staleList() throws {
        var item = self.item
        item.policy.statusList = StatusListPolicy(maximumAge: .seconds(86_400))
        #expect(item.refusal() == .statusListStale)
        let empty = Array(#"{"entries": {}}"#.utf8)
        item.statusList = StatusList(json: empty, fetched: item.time + .seconds(-86_400))
        #expect(item.refusal() == nil)
        item.statusList = StatusList(json: empty, fetched: item.time + .seconds(-86_401))
        #expect(item.refusal() == .statusListStale)
        item.policy.statusList.acceptsStale = true
        #expect(item.refusal() == nil)
    }

    @Test(
        "bytes that are not a status list are distinguished from an empty list",
        arguments: [
            "", "[]", "{}", "{\"entries\": 1}", "\u{FEFF}{\"entries\": {}}",
            "{\"entries\": {\"0x1f\": {\"status\": \"REVOKED\"}}}", "{\"entries\": {\"\": {\"status\": \"REVOKED\"}}}",
            "{\"entries\": {\"1f:2e\": {\"status\": \"REVOKED\"}}}",
            "{\"entries\": {\"\u{FF11}f\": {\"status\": \"REVOKED\"}}}",
        ]
    )
    func brokenList(text: String) {
        #expect(StatusList(json: Array(text.utf8), fetched: AndroidCase.now) == nil)
    }

    @Test("a status list in UTF-16 is not used, although JSON decoders accept it")
    func otherEncoding() {
        let text = #"{"entries": {"1f": {"status": "REVOKED"}}}"#
        #expect(StatusList(json: Array(text.utf8), fetched: AndroidCase.now) != nil)
        let bytes = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        #expect(StatusList(json: bytes, fetched: AndroidCase.now) == nil)
    }

    @Test("ten certificates are read and eleven are not; their total size counts")
    func limits() {
        var item = self.item
        item.batch = .long(6)
        #expect(item.chain.count == 10)
        #expect(item.refusal() == nil)
        item.batch = .long(7)
        #expect(item.refusal() == .tooManyCertificates)
        let large = Array(repeating: UInt8(0x30), count: EvidenceLimits.byteCount + 1)
        #expect(self.item.refusal(of: [large, large]) == .evidenceTooLarge)
        #expect(self.item.refusal(of: [Array(large.dropLast())]) == .malformedCertificate)
    }

    @Test("no evidence makes the verifier check more than twelve signatures")
    func signatureChecks() throws {
        var item = self.item
        item.batch = .long(6)
        var verification = Verification()
        _ = try item.verifier.verify(
            chain: item.chain,
            challenge: item.challenge,
            at: item.time,
            verification: &verification
        )
        #expect(verification.signatureChecks == 9)
        #expect(throws: AttestationRefusal.badSignature) {
            try item.verifier.verify(
                chain: item.chain,
                challenge: item.challenge,
                at: item.time,
                verification: &verification
            )
        }
        #expect(verification.signatureChecks == EvidenceLimits.signatureChecks)
    }
}
