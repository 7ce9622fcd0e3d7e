/// The result of one of the doctor's checks.
struct Finding: Encodable, Sendable {
    /// Its raw value is the word in the output; the exit statuses are those of monitoring plugins.
    enum Severity: String, Encodable, Sendable, CaseIterable {
        case good, warning, problem

        var exitStatus: Int32 {
            switch self {
            case .good: 0
            case .warning: 1
            case .problem: 2
            }
        }
    }

    /// The subject of a check, in the order of the output.
    enum Check: String, Encodable, Sendable, CaseIterable {
        case configuration, server, lab, rights, certificate, vault, devices, hook, witness, roles, clock, descriptors,
            disk
        case store, audit, backup
        case statusList = "status-list"
    }

    let check: Check
    let severity: Severity
    let text: String
    /// The operator's next step; nil for a good finding.
    let cure: String?

    static func good(_ check: Check, _ text: String) -> Finding {
        Finding(check: check, severity: .good, text: text, cure: nil)
    }

    static func warning(_ check: Check, _ text: String, cure: String) -> Finding {
        Finding(check: check, severity: .warning, text: text, cure: cure)
    }

    static func problem(_ check: Check, _ text: String, cure: String) -> Finding {
        Finding(check: check, severity: .problem, text: text, cure: cure)
    }
}
