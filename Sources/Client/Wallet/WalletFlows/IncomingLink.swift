/// A universal link that the phone passed to the app (PF2.7).
public struct IncomingLink: Hashable, Sendable {
    /// The origin of the link.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// A browser or another app.
        case app
        /// The phone's own camera, which read it from a QR code; the wallet must scan the code itself.
        case externalScanner = "external-scanner"
    }

    /// The URL as the operating system passed it on; not validated yet.
    public var url: String
    /// The origin of the link.
    public var source: Source

    /// Creates a link for ``AppStateMachine``, which validates it.
    public init(_ url: String, from source: Source = .app) {
        self.url = url
        self.source = source
    }
}

/// The purpose of a valid link: the first part of its path below the link base.
public enum LinkKind: String, Hashable, Sendable, CaseIterable {
    /// An issuer offers a credential.
    case issuance
    /// A verifier asks for credentials.
    case sharing
    /// A website asks the user to log in.
    case login
}

extension LinkKind {
    /// The purpose of a link below `base`; nil if it is not one of the wallet's links.
    ///
    /// The sender of a link is unknown, and host applications print links and pass them on. A link may therefore
    /// contain only the characters of a URL and be no longer than a real one.
    init?(of url: String, below base: String) {
        guard url.utf8.count <= Self.longestURL, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        let base = base.hasSuffix("/") ? base : base + "/"
        guard base.utf8.count > 1, url.hasPrefix(base) else { return nil }
        self.init(rawValue: String(url.dropFirst(base.count).prefix { !"/?#".contains($0) }))
    }

    private static var longestURL: Int { 4096 }
}

/// The outcome for a link (PF2.7).
enum LinkResult: Hashable, Sendable {
    /// No link, or one that is not the wallet's.
    case none
    case rejected
    case accepted
}

/// A running session of the host application; a link that arrives while it runs is rejected (PF2.7/4).
public enum HostSession: String, Hashable, Sendable, CaseIterable {
    /// The user recovers a forgotten PIN.
    case pinRecovery = "pin-recovery"
    /// The user shares credentials with a verifier.
    case disclosure
    /// The user receives a credential from an issuer.
    case issuance
    /// The user moves the wallet to another phone.
    case transfer
}
