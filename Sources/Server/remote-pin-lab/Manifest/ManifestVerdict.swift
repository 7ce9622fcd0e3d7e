internal import AttestationVerifier

/// A reason why a manifest or one of its cases cannot be judged.
///
/// Report it to the author of the manifest.
enum ManifestError: Error, Hashable, CustomStringConvertible {
    case notAManifest(String)
    case unknownFormat(String)
    /// An input for the case is missing or cannot be read.
    case missing(String)

    var description: String {
        switch self {
        case .notAManifest(let reason): "not a manifest: \(reason)"
        case .unknownFormat(let format): "unknown format \(format)"
        case .missing(let name): "missing or unreadable: \(name)"
        }
    }
}

/// The result of verifying the evidence of one case.
struct JudgedEvidence {
    var refusal: AttestationRefusal?
    var verification = Verification()
    let facts: ManifestValue
}

/// The actual and the expected outcome of a case.
struct ManifestVerdict: Hashable, Sendable {
    let id: String
    /// `accept`, or the reason for the rejection.
    let outcome: String
    /// `accept`, or the expected reason.
    let expected: String
    /// The differences in the outcome or in parsed fields, empty if everything matches.
    let differences: [String]
    /// The number of signatures checked.
    var signatureChecks = 0

    var agrees: Bool { self.differences.isEmpty }

    init(id: String, outcome: String, expected: String, differences: [String]) {
        self.id = id
        self.outcome = outcome
        self.expected = expected
        self.differences = differences
    }

    init(_ item: ManifestFile.Case, _ judged: JudgedEvidence) {
        let outcome = judged.refusal?.rawValue ?? "accept"
        let expected = item.expected.outcome == "accept" ? "accept" : item.expected.reason ?? "reject"
        let allowed = [expected] + (item.expected.outcome == "accept" ? [] : item.expected.reasonAlternatives ?? [])
        var differences = allowed.contains(outcome) ? [] : ["outcome: expected \(expected), found \(outcome)"]
        if let fields = item.expected.fields {
            differences += ManifestValue.differences(expected: fields, found: judged.facts)
        }
        self.init(id: item.id, outcome: outcome, expected: expected, differences: differences)
        self.signatureChecks = judged.verification.signatureChecks
    }
}
