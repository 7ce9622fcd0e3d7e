internal import AttestationVerifier
internal import Evidence
internal import FoundationEssentials
internal import Vocabulary

/// A list of evidence with all inputs and expected outcomes, in the format of the attestation vectors.
///
/// It does not access any files itself. The caller supplies a function to read them.
struct AttestationManifest: Sendable {
    /// Reads a file, given its path relative to the manifest; returns nil if that fails.
    typealias Reader = (String) -> [UInt8]?

    private let file: ManifestFile

    /// Parses a manifest's JSON.
    init(json: [UInt8]) throws(ManifestError) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            self.file = try decoder.decode(ManifestFile.self, from: Data(json))
        } catch {
            throw .notAManifest(String(describing: error))
        }
        guard self.file.format == ManifestFile.knownFormat else { throw .unknownFormat(self.file.format) }
    }

    /// The ids of all cases, in order.
    var ids: [String] { self.file.cases.map(\.id) }

    /// Verifies the evidence of the case at `index` and compares the outcome with the expected one.
    func judge(_ index: Int, reading read: Reader) -> ManifestVerdict {
        let item = self.file.cases[index]
        let judged: JudgedEvidence
        do throws(ManifestError) {
            switch item.kind {
            case "android-key": judged = try self.android(item, read)
            case "apple-attestation": judged = try self.appleAttestation(item, read)
            case "apple-assertion": judged = try self.appleAssertion(item, read)
            default: throw .missing("a known kind")
            }
        } catch {
            return ManifestVerdict(id: item.id, outcome: "unusable", expected: "", differences: [error.description])
        }
        return ManifestVerdict(item, judged)
    }

    private func android(_ item: ManifestFile.Case, _ read: Reader) throws(ManifestError) -> JudgedEvidence {
        let policy = try AndroidPolicy(try item.inputs.policy.required("policy"))
        let names = (item.inputs.trustAnchors ?? []).flatMap { self.file.trustAnchorSets[$0] ?? [] }
        var roots: [(name: String, certificate: [UInt8])] = []
        for name in names { roots.append((name, try self.root(name, read))) }
        let time = try item.time
        var list: StatusList?
        if let path = item.inputs.revocationList {
            list = StatusList(json: try read(path).required(path), fetched: time)
            guard list != nil else { throw .missing(path) }
        }
        var chain: [[UInt8]] = []
        for path in item.files.chain ?? [] { chain.append(try read(path).required(path)) }
        let verifier = AndroidVerifier(
            policy: policy,
            anchors: roots.compactMap { TrustAnchor(name: $0.name, certificate: $0.certificate) },
            statusList: list
        )
        var judged = JudgedEvidence(facts: ManifestFacts.android(chain, roots: roots))
        do throws(AttestationRefusal) {
            _ = try verifier.verify(
                chain: chain,
                challenge: [UInt8](hex: item.inputs.challengeHex ?? "") ?? [],
                publicKey: item.inputs.publicKeySpkiHex.flatMap { [UInt8](hex: $0) },
                at: time,
                verification: &judged.verification
            )
        } catch {
            judged.refusal = error
        }
        return judged
    }

    private func appleAttestation(_ item: ManifestFile.Case, _ read: Reader) throws(ManifestError) -> JudgedEvidence {
        let name = try item.inputs.trustAnchor.required("trust_anchor")
        let path = try item.files.attestation.required("attestation")
        let object = try read(path).required(path)
        let verifier = AppleVerifier(
            policy: ApplePolicy(
                apps: [AppleApp(id: try item.inputs.appId.required("app_id"))],
                environments: Set((item.inputs.allowedEnvironments ?? []).compactMap(AppAttestEnvironment.init))
            ),
            anchors: [TrustAnchor(name: name, certificate: try self.root(name, read))].compactMap { $0 }
        )
        let time = try item.time
        var judged = JudgedEvidence(facts: ManifestFacts.appleAttestation(object))
        do throws(AttestationRefusal) {
            _ = try verifier.verify(
                object: object,
                keyID: [UInt8](hex: item.inputs.keyIdHex ?? "") ?? [],
                clientDataHash: [UInt8](hex: item.inputs.clientDataHashHex ?? "") ?? [],
                at: time,
                verification: &judged.verification
            )
        } catch {
            judged.refusal = error
        }
        return judged
    }

    private func appleAssertion(_ item: ManifestFile.Case, _ read: Reader) throws(ManifestError) -> JudgedEvidence {
        let path = try item.files.assertion.required("assertion")
        let assertion = try read(path).required(path)
        var judged = JudgedEvidence(facts: ManifestFacts.appleAssertion(assertion))
        let appID = try item.inputs.appId.required("app_id")
        guard let key = P256PublicKey(hex: try item.inputs.publicKeyX963Hex.required("public_key_x963_hex")) else {
            judged.refusal = .badSignature
            return judged
        }
        do throws(AttestationRefusal) {
            _ = try AssertionVerifier.verified(
                assertion,
                clientDataHash: [UInt8](hex: item.inputs.clientDataHashHex ?? "") ?? [],
                key: key,
                appID: appID,
                previousCounter: item.inputs.previousCounter ?? 0
            )
        } catch {
            judged.refusal = error
        }
        return judged
    }

    private func root(_ name: String, _ read: Reader) throws(ManifestError) -> [UInt8] {
        let path = try self.file.roots[name].required("root \(name)").file
        return try read(path).required(path)
    }
}

extension Optional {
    func required(_ name: String) throws(ManifestError) -> Wrapped {
        guard let value = self else { throw .missing(name) }
        return value
    }
}

extension ManifestFile.Case {
    var time: Timestamp {
        get throws(ManifestError) {
            try self.inputs.verifyTime.flatMap { Timestamp(iso8601: $0) }.required("verify_time")
        }
    }
}

extension AndroidPolicy {
    init(_ policy: ManifestFile.Policy) throws(ManifestError) {
        let digests = Set((policy.signatureDigestsHex ?? []).compactMap { [UInt8](hex: $0) })
        let packages = policy.packageNames ?? []
        self.init(apps: packages.isEmpty ? nil : packages.map { AndroidApp(package: $0, signatureDigests: digests) })
        self.validity = try Validity(rawValue: policy.validity).required("validity")
        self.minimumAttestationLevel = try SecurityLevel(name: policy.minAttestationSecurityLevel).required("level")
        self.minimumKeyMintLevel = try SecurityLevel(name: policy.minKeymintSecurityLevel).required("level")
        self.requiresLockedDevice = policy.requireDeviceLocked
        self.bootStates = Set((policy.allowedVerifiedBootStates ?? []).compactMap { VerifiedBootState(name: $0) })
        self.bootKeys = nil
        self.requiresGeneratedKey = policy.requireOriginGenerated
        self.keyRules = .any
        self.allowedKeys = policy.allowedKeys.map { Set($0) }
        self.allowsAttestKeys = policy.allowAttestKeys ?? false
        self.minimumOSPatchLevel = try policy.minOsPatchLevel.map { number throws(ManifestError) in
            try PatchLevel(stated: number).required("min_os_patch_level")
        }
    }
}

/// The parts of a manifest file read by this program (format `attestation-vectors/1`).
///
/// All other members are ignored.
struct ManifestFile: Decodable, Sendable {
    static let knownFormat = "attestation-vectors/1"

    let format: String
    let trustAnchorSets: [String: [String]]
    let roots: [String: Root]
    let cases: [Case]

    struct Root: Decodable, Sendable {
        let file: String
    }

    struct Case: Decodable, Sendable {
        let id: String
        let kind: String
        let files: Files
        let inputs: Inputs
        let expected: Expected
    }

    struct Files: Decodable, Sendable {
        let chain: [String]?
        let attestation: String?
        let assertion: String?
    }

    struct Expected: Decodable, Sendable {
        let outcome: String
        let reason: String?
        let reasonAlternatives: [String]?
        let fields: ManifestValue?
    }

    struct Inputs: Decodable, Sendable {
        let challengeHex: String?
        let verifyTime: String?
        let trustAnchors: [String]?
        let trustAnchor: String?
        let revocationList: String?
        let publicKeySpkiHex: String?
        let policy: Policy?
        let clientDataHashHex: String?
        let keyIdHex: String?
        let appId: String?
        let allowedEnvironments: [String]?
        let publicKeyX963Hex: String?
        let previousCounter: UInt32?
    }

    struct Policy: Decodable, Sendable {
        let validity: String
        let minAttestationSecurityLevel: String
        let minKeymintSecurityLevel: String
        let requireDeviceLocked: Bool
        let allowedVerifiedBootStates: [String]?
        let requireOriginGenerated: Bool
        let allowAttestKeys: Bool?
        let allowedKeys: [String]?
        let minOsPatchLevel: Int?
        let packageNames: [String]?
        let signatureDigestsHex: [String]?
    }
}
