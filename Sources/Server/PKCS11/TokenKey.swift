internal import CPKCS11

/// The attributes of a key of this service: those of every new one, and the requirements on a found one.
enum KeyTemplate {
    static let byteCount: UInt = 32

    /// A key may compute MACs and nothing else, and must never leave the token.
    static let attributes: [(name: String, type: UInt, value: [UInt8])] = [
        ("CKA_CLASS", CKA_CLASS, Self.bytes(CKO_SECRET_KEY)),
        ("CKA_KEY_TYPE", CKA_KEY_TYPE, Self.bytes(CKK_GENERIC_SECRET)),
        ("CKA_TOKEN", CKA_TOKEN, [1]), ("CKA_PRIVATE", CKA_PRIVATE, [1]), ("CKA_SENSITIVE", CKA_SENSITIVE, [1]),
        ("CKA_EXTRACTABLE", CKA_EXTRACTABLE, [0]), ("CKA_SIGN", CKA_SIGN, [1]), ("CKA_VERIFY", CKA_VERIFY, [0]),
        ("CKA_ENCRYPT", CKA_ENCRYPT, [0]), ("CKA_DECRYPT", CKA_DECRYPT, [0]), ("CKA_WRAP", CKA_WRAP, [0]),
        ("CKA_UNWRAP", CKA_UNWRAP, [0]), ("CKA_DERIVE", CKA_DERIVE, [0]),
    ]

    static func bytes(_ number: UInt) -> [UInt8] { unsafe withUnsafeBytes(of: number) { unsafe Array($0) } }
}

/// A key that was found in a token.
package struct TokenKey: Hashable, Sendable {
    package let handle: UInt
    package let label: String
    /// The first requirement that the key does not meet, such as `CKA_EXTRACTABLE`; nil for a sound key.
    package let fault: String?
    /// Whether the value has been outside the token, as that of an imported key.
    package let wasOutside: Bool
    /// Whether the token itself limits the key to HMAC-SHA256.
    package let isLimited: Bool
}

extension TokenModule {
    /// Returns the keys with this label, or those whose label begins with `prefix`, and the faults of each.
    package func keys(_ label: String? = nil, prefix: String = "", in session: UInt) throws(TokenError) -> [TokenKey] {
        var keys: [TokenKey] = []
        for handle in try self.secretKeys(label, in: session) {
            let bytes = try self.attribute(CKA_LABEL, of: handle, in: session) ?? []
            let label = String(decoding: bytes, as: UTF8.self)
            guard label.hasPrefix(prefix) else { continue }
            let limit = try self.attribute(CKA_ALLOWED_MECHANISMS, of: handle, in: session)
            var requirements = KeyTemplate.attributes
            requirements.append(("CKA_VALUE_LEN", CKA_VALUE_LEN, KeyTemplate.bytes(KeyTemplate.byteCount)))
            var fault: String?
            for required in requirements where fault == nil {
                let value = try self.attribute(required.type, of: handle, in: session)
                if value != required.value { fault = required.name }
            }
            // An empty list, or none, is a token that knows no limit.
            let isLimited = limit == KeyTemplate.bytes(CKM_SHA256_HMAC)
            if !isLimited, limit?.isEmpty == false { fault = fault ?? "CKA_ALLOWED_MECHANISMS" }
            let wasInside = try self.attribute(CKA_NEVER_EXTRACTABLE, of: handle, in: session) == [1]
            keys.append(
                TokenKey(handle: handle, label: label, fault: fault, wasOutside: !wasInside, isLimited: isLimited)
            )
        }
        return keys
    }
}

/// The reason a module's library cannot be used.
package struct TokenLoadError: Error, Hashable, Sendable {
    package let reason: String
}
