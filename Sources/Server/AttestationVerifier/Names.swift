package import Evidence

extension SecurityLevel {
    /// The name of the level in the AOSP schema, or its number if the level is unknown.
    package var name: String {
        switch self {
        case .software: "Software"
        case .trustedEnvironment: "TrustedEnvironment"
        case .strongBox: "StrongBox"
        case .unknown(let number): String(number)
        }
    }

    /// Creates the level with this name.
    ///
    /// Returns nil if there is none.
    package init?(name: String) {
        guard let level = [SecurityLevel.software, .trustedEnvironment, .strongBox].first(where: { $0.name == name })
        else { return nil }
        self = level
    }
}

extension ValidationCategory {
    /// The name of the category in the settings or, if none can name it, its number.
    package var name: String {
        switch self {
        case .testFlight: "testflight"
        case .development: "development"
        case .appStore: "app-store"
        case .enterprise: "enterprise"
        case .platform, .developerID, .other: String(self.number)
        }
    }
}

extension VerifiedBootState {
    /// The name of the state in the AOSP schema, or its number if the state is unknown.
    package var name: String {
        switch self {
        case .verified: "Verified"
        case .selfSigned: "SelfSigned"
        case .unverified: "Unverified"
        case .failed: "Failed"
        case .unknown(let number): String(number)
        }
    }

    /// Creates the state with this name.
    ///
    /// Returns nil if there is none.
    package init?(name: String) {
        guard
            let state = [VerifiedBootState.verified, .selfSigned, .unverified, .failed].first(where: { $0.name == name }
            )
        else { return nil }
        self = state
    }
}
