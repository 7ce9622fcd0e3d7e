package import Vocabulary

/// The data signed by an App Attest key in addition to the client's data (WebAuthn §6.1, as used by Apple).
package struct AuthenticatorData: Hashable, Sendable {
    /// The SHA-256 digest of the app id, `TEAMID.bundle.id`.
    package var rpIDHash: SHA256Digest
    /// The raw flags.
    ///
    /// Apple also sets 0x40 in assertions, even though they do not contain a credential.
    package var flags: UInt8
    /// The number of signatures made with the key, or 0 in an attestation.
    package var counter: UInt32
    /// The attested key.
    ///
    /// Only present in attestations.
    package var credential: Credential?
    /// The extension data at the end, added by newer systems.
    package var extensions: AppAttestExtensions?

    /// The attested key.
    package struct Credential: Hashable, Sendable {
        /// The 16 bytes that identify the environment.
        package var aaguid: [UInt8]
        /// The key id: the SHA-256 digest of its public key.
        package var id: [UInt8]
        /// The public key as a COSE map (RFC 9052 §7).
        package var key: CBOR

        package init(aaguid: [UInt8], id: [UInt8], key: CBOR) {
            self.aaguid = aaguid
            self.id = id
            self.key = key
        }
    }

    /// The flag that indicates a credential.
    package static let hasCredential: UInt8 = 0x40

    package init(
        rpIDHash: SHA256Digest,
        flags: UInt8,
        counter: UInt32,
        credential: Credential?,
        extensions: AppAttestExtensions?
    ) {
        self.rpIDHash = rpIDHash
        self.flags = flags
        self.counter = counter
        self.credential = credential
        self.extensions = extensions
    }

    /// Decodes an attestation's data (if `withCredential` is true) or an assertion's.
    ///
    /// The fixed part and the credential may be followed by extension data, but nothing else.
    package init(decoding bytes: [UInt8], withCredential: Bool) throws(AuthenticatorDataError) {
        var rest = bytes[...]
        guard let rpIDHash = SHA256Digest(rest.prefix(32)), rest.count >= 37 else { throw .truncated }
        self.rpIDHash = rpIDHash
        rest = rest.dropFirst(32)
        self.flags = rest.removeFirst()
        self.counter = rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        rest = rest.dropFirst(4)
        self.credential = withCredential ? try Self.credential(from: &rest, flags: self.flags) : nil
        self.extensions = rest.isEmpty ? nil : try AppAttestExtensions(decoding: rest)
    }

    package var encoded: [UInt8] {
        var bytes = self.rpIDHash.bytes + [self.flags] + self.counter.bigEndianBytes
        if let credential = self.credential {
            bytes += credential.aaguid + UInt16(credential.id.count).bigEndianBytes + credential.id
            bytes += credential.key.encoded
        }
        return bytes + (self.extensions?.encoded ?? [])
    }

    private static func credential(
        from rest: inout ArraySlice<UInt8>,
        flags: UInt8
    ) throws(AuthenticatorDataError) -> Credential {
        guard flags & Self.hasCredential != 0 else { throw .noCredential }
        guard rest.count >= 18 else { throw .truncated }
        let aaguid = Array(rest.prefix(16))
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard rest.count >= length else { throw .truncated }
        let id = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        guard let key = try? CBOR(decodingPrefixOf: &rest), key.isMap else { throw .credentialKey }
        return Credential(aaguid: aaguid, id: id, key: key)
    }
}

/// An error from decoding authenticator data.
///
/// The evidence should be rejected.
package enum AuthenticatorDataError: Error, Hashable {
    /// The data ends before a required part.
    case truncated
    /// The flags do not indicate a credential, although one is required.
    case noCredential
    /// The credential's key is not a CBOR map.
    case credentialKey
    /// The data is followed by something other than well-formed CBOR maps within the limits.
    case extensions
}

extension AuthenticatorData.Credential {
    /// Returns a P-256 key in COSE form: kty 2 (EC2), alg −7 (ES256), crv 1 (P-256), x and y.
    package static func coseKey(_ key: P256PublicKey) -> CBOR {
        .map([
            CBOR.Entry(.integer(1), .integer(2)),
            CBOR.Entry(.integer(3), .integer(-7)),
            CBOR.Entry(.integer(-1), .integer(1)),
            CBOR.Entry(.integer(-2), .bytes(Array(key.bytes[1..<33]))),
            CBOR.Entry(.integer(-3), .bytes(Array(key.bytes[33...]))),
        ])
    }

    /// The P-256 key, or nil if it does not have the form written by ``coseKey(_:)``.
    package var publicKey: P256PublicKey? {
        guard self.key[.integer(1)] == .integer(2), self.key[.integer(3)] == .integer(-7),
            self.key[.integer(-1)] == .integer(1), let x = self.key[.integer(-2)]?.byteString,
            let y = self.key[.integer(-3)]?.byteString, x.count == 32
        else { return nil }
        return P256PublicKey([0x04] + x + y)
    }
}
