package import Vocabulary

/// The result of `DCAppAttestService.attestKey`.
package struct AppAttestObject: Hashable, Sendable {
    /// The name of the format.
    ///
    /// The only known one is `apple-appattest`.
    package var format: String
    /// The leaf and the authority that signed it, without the root.
    package var certificates: [[UInt8]]
    /// The input for Apple's fraud metric.
    ///
    /// Not used for verification.
    package var receipt: [UInt8]?
    /// The encoded ``AuthenticatorData``, as it was signed.
    package var authenticatorData: [UInt8]

    /// The only known format.
    package static let knownFormat = "apple-appattest"

    package init(certificates: [[UInt8]], receipt: [UInt8]?, authenticatorData: [UInt8]) {
        self.format = Self.knownFormat
        self.certificates = certificates
        self.receipt = receipt
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one object.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item = try CBOR(evidence: bytes)
        guard case .text(let format) = item["fmt"] else { throw .member("fmt") }
        guard format == Self.knownFormat else { throw .unknownFormat }
        guard let statement = item["attStmt"], case .array(let chain) = statement["x5c"] else { throw .member("x5c") }
        guard let data = item["authData"]?.byteString else { throw .member("authData") }
        let certificates = chain.compactMap(\.byteString)
        guard certificates.count == chain.count else { throw .certificates }
        self.format = format
        self.certificates = certificates
        self.receipt = statement["receipt"]?.byteString
        self.authenticatorData = data
    }

    package var encoded: [UInt8] {
        var statement = [CBOR.Entry(.text("x5c"), .array(self.certificates.map { .bytes($0) }))]
        if let receipt = self.receipt { statement.append(CBOR.Entry(.text("receipt"), .bytes(receipt))) }
        return CBOR.map([
            CBOR.Entry(.text("fmt"), .text(self.format)),
            CBOR.Entry(.text("attStmt"), .map(statement)),
            CBOR.Entry(.text("authData"), .bytes(self.authenticatorData)),
        ]).encoded
    }
}

/// An error from decoding an attestation or assertion.
///
/// The evidence should be rejected.
package enum AppAttestObjectError: Error, Hashable {
    case cbor(CBORError)
    /// A member is missing or has the wrong type.
    case member(String)
    /// The format is not Apple's.
    case unknownFormat
    /// An item in the list of certificates is not a byte string.
    case certificates
}

/// The result of `DCAppAttestService.generateAssertion`.
package struct AppAttestAssertion: Hashable, Sendable {
    /// The DER-encoded ECDSA signature of the nonce.
    package var signature: [UInt8]
    /// The encoded ``AuthenticatorData``, as it was signed.
    package var authenticatorData: [UInt8]

    package init(signature: [UInt8], authenticatorData: [UInt8]) {
        self.signature = signature
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one assertion.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item = try CBOR(evidence: bytes)
        guard let signature = item["signature"]?.byteString else { throw .member("signature") }
        guard let data = item["authenticatorData"]?.byteString else { throw .member("authenticatorData") }
        self.signature = signature
        self.authenticatorData = data
    }

    package var encoded: [UInt8] {
        CBOR.map([
            CBOR.Entry(.text("signature"), .bytes(self.signature)),
            CBOR.Entry(.text("authenticatorData"), .bytes(self.authenticatorData)),
        ]).encoded
    }

    /// Returns the bytes signed by the key: the SHA-256 digest of the authenticator data followed by the client data
    /// hash.
    package static func nonce(authenticatorData: [UInt8], clientDataHash: [UInt8]) -> SHA256Digest {
        sha256(authenticatorData + clientDataHash)
    }
}

/// The Apple service that attested a key.
package enum AppAttestEnvironment: String, Hashable, Sendable, CaseIterable {
    case development
    case production

    /// The aaguid that identifies the environment.
    package var aaguid: [UInt8] {
        switch self {
        case .development: Array("appattestdevelop".utf8)
        case .production: Array("appattest".utf8) + Array(repeating: 0, count: 7)
        }
    }

    package init?(aaguid: [UInt8]) {
        guard let match = Self.allCases.first(where: { $0.aaguid == aaguid }) else { return nil }
        self = match
    }
}

extension CBOR {
    fileprivate init(evidence bytes: [UInt8]) throws(AppAttestObjectError) {
        do throws(CBORError) { try self.init(decoding: bytes) } catch { throw .cbor(error) }
    }
}
