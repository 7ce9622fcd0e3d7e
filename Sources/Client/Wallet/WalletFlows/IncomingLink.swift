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
    case rejected, accepted
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

/// A URL with an authority, in the normal form of RFC 3986 §6.2.2 and §6.2.3.
///
/// Two spellings of a URL that the RFC calls equivalent have the same normal form: scheme and host in lower case, no
/// default port, no percent-encoding of unreserved characters, and a path without dot segments. Threat: a sender spells
/// a link so that the wallet judges another path than the one that the link leads to.
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    package let scheme: String
    /// The host, with its port if it is not the default one.
    package let authority: String
    /// The path, which starts with a slash and has no dot segments.
    package let path: String
    /// The query and the fragment, each with its delimiter, or empty.
    package let rest: String

    package var description: String { "\(self.scheme)://\(self.authority)\(self.path)\(self.rest)" }

    /// The maximum length of a URL in bytes.
    private static let longest = 4096

    /// Parses a URL.
    ///
    /// Returns nil for anything else: characters that RFC 3986 does not permit, malformed percent-encoding, encoded
    /// control characters, user information, a host that is neither a name nor an IP address, and a URL of more than
    /// 4096 bytes.
    package init?(_ text: String) {
        // Decoding comes first: unreserved characters delimit nothing, and an encoded dot segment is a dot segment.
        guard text.utf8.count <= Self.longest, let text = Self.decodingUnreserved(text),
            let parts = text.wholeMatch(
                of: #/([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#\[\]]*)((\?[^#\[\]]*)?(#[^#\[\]]*)?)/#
            ),
            let authority = parts.2.wholeMatch(of: #/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(:([0-9]*))?/#)
        else { return nil }
        self.scheme = parts.1.lowercased()
        let host = authority.1.lowercased()
        if let digits = authority.3, !digits.isEmpty {
            guard let port = UInt16(digits) else { return nil }
            self.authority = port == Self.defaultPort(of: self.scheme) ? host : "\(host):\(port)"
        } else {
            self.authority = host
        }
        self.path = Self.removingDotSegments(parts.3)
        self.rest = String(parts.4)
    }

    private static func defaultPort(of scheme: String) -> UInt16? {
        switch scheme {
        case "http": 80
        case "https": 443
        case _: nil
        }
    }

    /// Returns the text with unreserved characters decoded and the other percent-encodings in upper case, or nil if a
    /// character must not occur in a URL.
    private static func decodingUnreserved(_ text: String) -> String? {
        var normal = String.UnicodeScalarView()
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                guard Self.isUnreserved(byte) || Self.reserved.contains(byte) else { return nil }
                normal.append(Unicode.Scalar(byte))
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 2 else { return nil }
            let encoded = rest.prefix(2).map { Character(Unicode.Scalar($0)).uppercased() }.joined()
            rest = rest.dropFirst(2)
            let value = UInt8(digits[0] << 4 | digits[1])
            guard value >= 0x20, value != 0x7F else { return nil }
            normal.append(
                contentsOf: Self.isUnreserved(value) ? [Unicode.Scalar(value)] : Array("%\(encoded)".unicodeScalars)
            )
        }
        return String(normal)
    }

    private static let reserved = Set(":/?#[]@!$&'()*+,;=".utf8)

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        case _: false
        }
    }

    /// Resolves the segments `.` and `..` (RFC 3986 §5.2.4).
    private static func removingDotSegments(_ path: Substring) -> String {
        var segments: [Substring] = []
        var isFolder = true
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            isFolder = segment == "." || segment == ".."
            if segment == ".." { _ = segments.popLast() }
            if !isFolder { segments.append(segment) }
        }
        return "/" + segments.joined(separator: "/") + (isFolder && !segments.isEmpty ? "/" : "")
    }
}
