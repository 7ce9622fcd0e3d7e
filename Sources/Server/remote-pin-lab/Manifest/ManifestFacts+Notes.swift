internal import AttestationVerifier
internal import Evidence

extension ManifestFacts {
    /// Returns the oddities of accepted evidence, worded as in the manifests.
    static func notes(_ certificates: [Certificate], _ description: KeyDescription) -> [String] {
        let forms = certificates.enumerated().flatMap { index, certificate in
            Self.oddities(of: certificate).map { "cert \(index): \($0)" }
        }
        let unmarked = certificates.enumerated().dropFirst().filter { !$0.element.isAuthority }.map { index, _ in
            "cert \(index) signs but is not marked CA"
        }
        return forms + Self.oddities(of: description.softwareEnforced, named: "softwareEnforced")
            + Self.oddities(of: description.hardwareEnforced, named: "hardwareEnforced") + unmarked
    }

    private static func oddities(of certificate: Certificate) -> [String] {
        var notes: [String] = []
        if !certificate.isAlgorithmConsistent { notes.append("inner and outer signature algorithm differ") }
        if certificate.hasSignatureParameters, certificate.signatureAlgorithm.description.hasPrefix("1.2.840.10045.4") {
            notes.append("ECDSA AlgorithmIdentifier carries parameters")
        }
        return notes
    }

    private static func oddities(of list: AuthorizationList, named name: String) -> [String] {
        var notes: [String] = []
        var previous: UInt = 0
        for entry in list.entries {
            if entry.tag < previous { notes.append("\(name): tag \(entry.tag) after \(previous), not ascending") }
            previous = entry.tag
            if case .unknown = entry.value { notes.append("\(name): unknown tag \(entry.tag)") }
            if case .rootOfTrust(let root) = entry.value, root.hasLooseBoolean {
                notes.append("\(name): rootOfTrust.deviceLocked is BOOLEAN 0x01, BER but not DER")
            }
        }
        return notes
    }
}
