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

/// Something that the host application is in the middle of; a link that arrives meanwhile has to wait (PF2.7/4).
public enum HostSession: String, Hashable, Sendable, CaseIterable {
    case pinRecovery = "pin-recovery"
    case disclosure
    case issuance
    case transfer
}
