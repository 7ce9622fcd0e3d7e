package import Vocabulary

/// The result of `DCAppAttestService.attestKey`.
package struct AppAttestObject: Hashable, Sendable {
    /// The format's name; the only known one is `apple-appattest`.
    package var format: String
    /// The leaf and the authority that signed it, without the root.
    package var certificates: [[UInt8]]
    /// The input of Apple's fraud metric; not used for verification.
    package var receipt: [UInt8]?
    /// The encoding of an ``AuthenticatorData``, as signed.
    package var authenticatorData: [UInt8]

    /// The only format.
    package static let knownFormat = "apple-appattest"

    package init(certificates: [[UInt8]], receipt: [UInt8]?, authenticatorData: [UInt8]) {
        self.format = Self.knownFormat
        self.certificates = certificates
        self.receipt = receipt
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one object.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item: CBOR
        do throws(CBORError) {
            item = try CBOR(decoding: bytes)
        } catch {
            throw .cbor(error)
        }
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

/// An error from decoding an attestation or assertion; the caller should reject the evidence.
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
    /// ECDSA as DER over the nonce.
    package var signature: [UInt8]
    /// The encoding of an ``AuthenticatorData``, as signed.
    package var authenticatorData: [UInt8]

    package init(signature: [UInt8], authenticatorData: [UInt8]) {
        self.signature = signature
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one assertion.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item: CBOR
        do throws(CBORError) {
            item = try CBOR(decoding: bytes)
        } catch {
            throw .cbor(error)
        }
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

    /// The bytes that the key signs: SHA-256 of authenticator data and client data hash, in this order.
    package static func nonce(authenticatorData: [UInt8], clientDataHash: [UInt8]) -> SHA256Digest {
        sha256(authenticatorData + clientDataHash)
    }
}

/// Apple's service that attested a key.
package enum AppAttestEnvironment: String, Hashable, Sendable, CaseIterable {
    case development
    case production

    /// The aaguid that identifies it.
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
