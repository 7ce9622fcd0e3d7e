/// A universal link that the phone handed to the app (PF2.7).
public struct IncomingLink: Hashable, Sendable {
    /// Who handed it over.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// A browser or another app.
        case app
        /// The phone's own camera, which read it from a QR code: it is to be scanned in the wallet itself.
        case externalScanner = "external-scanner"
    }

    public var url: String
    public var source: Source

    public init(_ url: String, from source: Source = .app) {
        self.url = url
        self.source = source
    }
}

/// What a valid link asks for: the first part of its path below the link base.
public enum LinkKind: String, Hashable, Sendable, CaseIterable {
    case issuance
    case sharing
    case login
}

extension LinkKind {
    /// What a link below `base` asks for; nil where it is none of the wallet's.
    ///
    /// Who sends a link is unknown, and hosts print it and hand it on: only characters that a URL may have, and not more of
    /// them than any real one.
    init?(of url: String, below base: String) {
        guard url.utf8.count <= Self.longestURL, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        let base = base.hasSuffix("/") ? base : base + "/"
        guard base.utf8.count > 1, url.hasPrefix(base) else { return nil }
        self.init(rawValue: String(url.dropFirst(base.count).prefix { !"/?#".contains($0) }))
    }

    private static var longestURL: Int { 4096 }
}

/// What became of a link (PF2.7).
enum LinkResult: Hashable, Sendable {
    /// There was none, or one that is not the wallet's.
    case none
    case rejected
    case accepted
}

/// Something that the host application is in the middle of; a link that arrives meanwhile has to wait (PF2.7/4).
public enum HostSession: String, Hashable, Sendable, CaseIterable {
    case pinRecovery = "pin-recovery"
    case disclosure
    case issuance
    case transfer
}
