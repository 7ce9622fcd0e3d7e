internal import AttestationVerifier

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
