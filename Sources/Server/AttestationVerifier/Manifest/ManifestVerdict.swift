/// Why a manifest, or one case of it, cannot be judged; tell the person who made it.
package enum ManifestError: Error, Hashable, CustomStringConvertible {
    case notAManifest(String)
    case unknownFormat(String)
    /// Something that the case needs is not there or cannot be read.
    case missing(String)

    package var description: String {
        switch self {
        case .notAManifest(let reason): "not a manifest: \(reason)"
        case .unknownFormat(let format): "unknown format \(format)"
        case .missing(let name): "missing or unreadable: \(name)"
        }
    }
}

/// What came of one case.
struct JudgedEvidence {
    var refusal: AttestationRefusal?
    var verification = Verification()
    let facts: JSONValue

    init(facts: JSONValue) {
        self.facts = facts
    }
}

/// One case's outcome beside what was expected.
package struct ManifestVerdict: Hashable, Sendable {
    package let id: String
    /// `accept` or the reason of the refusal.
    package let outcome: String
    /// `accept` or the reason that was expected.
    package let expected: String
    /// Where the outcome or a parsed field is not the expected one; empty where all agrees.
    package let differences: [String]
    /// How many signatures were checked.
    package var signatureChecks = 0

    package var agrees: Bool { self.differences.isEmpty }

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
            differences += JSONValue.differences(expected: fields, found: judged.facts)
        }
        self.init(id: item.id, outcome: outcome, expected: expected, differences: differences)
        self.signatureChecks = judged.verification.signatureChecks
    }
}
