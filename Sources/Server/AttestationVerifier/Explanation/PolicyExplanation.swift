internal import Evidence
package import Vocabulary

extension EvidenceVerifier {
    /// Returns sentences that tell an operator which evidence is accepted.
    package func sentences(at now: Timestamp) -> [String] {
        self.policy.android.sentences(anchors: self.androidAnchors, statusList: self.statusList, at: now)
            + self.policy.apple.sentences(anchors: self.appleAnchors)
    }
}

extension AndroidPolicy {
    func sentences(anchors: [TrustAnchor], statusList: StatusList?, at now: Timestamp) -> [String] {
        guard let apps, !apps.isEmpty else { return ["No Android device can register: no app is configured."] }
        var lines = apps.map { app in
            let version = app.minimumVersion > 0 ? ", version code \(app.minimumVersion) or later" : ""
            let digests = app.signatureDigests.map(\.hex).sorted().joined(separator: " or ")
            return "Android devices may register with the app \(app.package)\(version), signed with \(digests)."
        }
        lines.append(self.hardwareSentence)
        lines.append("The bootloader must be locked, and the verified boot state \(self.acceptedBootStates).")
        if self.bootStates.contains(.selfSigned) {
            let keys = self.bootKeys.map { $0.map(\.description).sorted().joined(separator: " or ") }
            lines.append("A self-signed system must be signed with \(keys ?? "any key").")
        }
        let levels = [
            Self.level("The system's security patch", self.minimumOSPatchLevel),
            Self.level("the vendor image's", self.minimumVendorPatchLevel),
            Self.level("the boot image's", self.minimumBootPatchLevel),
        ]
        lines.append(levels.joined(separator: "; ") + ".")
        let ways = (self.provisioning ?? Set(Provisioning.allCases)).map(\.rawValue).sorted()
        let attestKeys = self.allowsAttestKeys ? "are accepted" : "are refused"
        lines.append(
            "Attestation keys may be provisioned in these ways: \(ways.joined(separator: ", ")). "
                + "Keys that another key of the app attested (ATTEST_KEY) \(attestKeys)."
        )
        lines.append(TrustAnchor.sentence("Android chains", anchors))
        lines.append(self.statusList.sentence(statusList, at: now))
        return lines
    }

    private var hardwareSentence: String {
        switch self.minimumKeyMintLevel {
        case .strongBox: "The key must be kept in a separate security chip (StrongBox)."
        default: "The key must be kept in the trusted environment or in a separate security chip (StrongBox)."
        }
    }

    private var acceptedBootStates: String {
        if self.bootStates.isEmpty { return "is not checked" }
        return "must be " + self.bootStates.map(\.name).sorted().joined(separator: " or ")
    }

    private static func level(_ name: String, _ minimum: PatchLevel?) -> String {
        guard let minimum else { return "\(name) is not checked" }
        return "\(name) must be \(minimum) or later"
    }
}

extension ApplePolicy {
    func sentences(anchors: [TrustAnchor]) -> [String] {
        guard !self.apps.isEmpty else { return ["No iOS device can register: no app is configured."] }
        let environments = self.environments.map(\.rawValue).sorted().joined(separator: " or ")
        var lines = self.apps.map { app in
            let version = app.minimumVersion.map { ", bundle version \($0) or later" } ?? ""
            return "iOS devices may register with the app \(app.id)\(version), attested in the environment "
                + "\(environments)."
        }
        if let categories {
            let names = categories.map(\.name).sorted().joined(separator: " or ")
            lines.append("The validation category of an iOS app must be \(names).")
        }
        if self.categories != nil || self.apps.contains(where: { $0.minimumVersion != nil }) {
            let verb = self.acceptsMissingExtensions ? "accepted" : "refused"
            lines.append("iOS evidence that does not state what is required, as before iOS 27, is \(verb).")
        }
        return lines + [TrustAnchor.sentence("App Attest chains", anchors)]
    }
}

extension TrustAnchor {
    fileprivate static func sentence(_ chains: String, _ anchors: [TrustAnchor]) -> String {
        let roots = anchors.map { anchor in
            let name = anchor.isOfLab ? "a lab's root" : anchor.name
            return "\(name) (SHA-256 of the key \(anchor.keyHash))"
        }
        return "\(chains) must end at \(roots.joined(separator: " or "))."
    }
}

extension StatusListPolicy {
    fileprivate func sentence(_ list: StatusList?, at now: Timestamp) -> String {
        guard let list else {
            return "No status list is configured (`android.status-list`): revoked devices are not detected."
        }
        let hours = (now - list.fetched).components.seconds / 3600
        let age = hours < 48 ? "\(hours) h" : "\(hours / 24) days"
        let found = "The status list names \(list.count) certificates and is \(age) old"
        guard let maximumAge = self.maximumAge else { return found + "; its age is not limited." }
        let limit = maximumAge.components.seconds / 3600
        let consequence = self.acceptsStale ? "a warning is logged" : "Android registrations are refused"
        let state = self.isStale(list, at: now) ? "it is stale: \(consequence)" : "after \(limit) h \(consequence)"
        return "\(found); \(state)."
    }
}
