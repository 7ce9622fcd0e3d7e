/// The result of one `doctor` check.
struct Finding: Encodable, Sendable {
    /// The severity of a finding.
    ///
    /// Its raw value appears in the output, and its exit status follows monitoring plugins.
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

    /// The subject of a check, in output order.
    enum Check: String, Encodable, Sendable, CaseIterable {
        case configuration, server, lab, rights, certificate, vault, devices, hook, witness, roles, clock, descriptors,
            disk
        case store, audit, backup
        case statusList = "status-list"
    }

    let check: Check
    let severity: Severity
    let text: String
    /// The operator's next step, or nil if the finding is good.
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
