/// A universal link passed to the app by the phone (PF2.7).
public struct IncomingLink: Hashable, Sendable {
    /// The origin of the link.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// A browser or another app.
        case app
        /// The phone's own camera, which read it from a QR code.
        ///
        /// The wallet must scan the code itself.
        case externalScanner = "external-scanner"
    }

    /// The URL from the operating system.
    ///
    /// It has not been validated.
    public var url: String
    /// The origin of the link.
    public var source: Source

    /// Creates a link, which will be validated by ``AppStateMachine``.
    public init(_ url: String, from source: Source = .app) {
        self.url = url
        self.source = source
    }
}

/// The purpose of a valid link: the first component of its path below the link base.
public enum LinkKind: String, Hashable, Sendable, CaseIterable {
    /// An issuer offers a credential.
    case issuance
    /// A verifier asks for credentials.
    case sharing
    /// A website asks the user to log in.
    case login
}

/// A valid link of the wallet.
struct WalletLink: Hashable, Sendable {
    let kind: LinkKind
    /// The URL in its normal form (``WebAddress``), so that the host application acts on the path that was judged.
    let url: String

    /// Returns nil if the URL is not a link below `base`, or has no known purpose.
    ///
    /// The sender of a link is unknown, and host applications print links and pass them on.
    init?(_ url: String, below base: String) {
        guard let base = WebAddress(base), base.rest.isEmpty, let address = WebAddress(url),
            address.scheme == base.scheme, address.authority == base.authority
        else { return nil }
        let folder = base.path.hasSuffix("/") ? base.path : base.path + "/"
        guard address.path.hasPrefix(folder),
            let kind = LinkKind(rawValue: String(address.path.dropFirst(folder.count).prefix { $0 != "/" }))
        else { return nil }
        self.kind = kind
        self.url = address.description
    }
}

/// The result of resolving a link (PF2.7).
enum LinkResult: Hashable, Sendable {
    /// No link was passed, or it is not one of the wallet's.
    case none
    case rejected
    case accepted
}

/// A session in progress in the host application.
///
/// Links that arrive in the meantime are rejected (PF2.7/4).
public enum HostSession: String, Hashable, Sendable, CaseIterable {
    /// The user is recovering a forgotten PIN.
    case pinRecovery = "pin-recovery"
    /// The user is sharing credentials with a verifier.
    case disclosure
    /// The user is receiving a credential from an issuer.
    case issuance
    /// The user is moving the wallet to another phone.
    case transfer
}
