package import Evidence

extension SecurityLevel {
    /// The name in the AOSP schema; a number if the level is unknown.
    package var name: String {
        switch self {
        case .software: "Software"
        case .trustedEnvironment: "TrustedEnvironment"
        case .strongBox: "StrongBox"
        case .unknown(let number): String(number)
        }
    }

    /// The level with this name, or nil for any other string.
    package init?(name: String) {
        guard let level = [SecurityLevel.software, .trustedEnvironment, .strongBox].first(where: { $0.name == name })
        else { return nil }
        self = level
    }
}

extension VerifiedBootState {
    /// The name in the AOSP schema; a number if the state is unknown.
    package var name: String {
        switch self {
        case .verified: "Verified"
        case .selfSigned: "SelfSigned"
        case .unverified: "Unverified"
        case .failed: "Failed"
        case .unknown(let number): String(number)
        }
    }

    /// The state with this name, or nil for any other string.
    package init?(name: String) {
        guard
            let state = [VerifiedBootState.verified, .selfSigned, .unverified, .failed].first(where: { $0.name == name }
            )
        else { return nil }
        self = state
    }
}
