internal import Crypto
internal import Foundation
internal import Transport
internal import Vocabulary

/// A token in each form that proves that the form was recently made by this portal, for this source and purpose.
///
/// The only harm a forged request can do is to use up the attempts of the user whose browser sends it. The seal is
/// therefore bound to the user's source: an attacker with a seal for that source could use up the attempts directly.
/// The portal needs no cookie and thus no consent, and it works with cookies disabled. The seal for the deletion is
/// also bound to a single code. It is part of the confirmation page, so no client can skip the confirmation.
struct FormSeal: Sendable {
    /// The request made by a form.
    enum Purpose: String {
        /// Asks for confirmation before deleting the wallet with this code.
        case check
        /// Deletes the wallet.
        case delete
    }

    /// The validity period of a form.
    static let lifetime: Duration = .seconds(3600)

    /// The key, generated at each start.
    ///
    /// A form from before a restart is shown again.
    private let key = SymmetricKey(size: .bits256)

    /// Returns the seal for a form, consisting of its creation time and a MAC.
    func seal(_ purpose: Purpose, code: String = "", for source: PeerSource, at now: Timestamp) -> String {
        let message = Self.message(purpose, code: code, for: source, madeAt: now.milliseconds)
        let mac = HMAC<SHA256>.authenticationCode(for: message, using: self.key)
        return "\(now.milliseconds).\(Data(mac).base64EncodedString())"
    }

    /// Returns whether this portal recently made the seal, for the same purpose, code and source.
    func isGood(
        _ seal: String,
        _ purpose: Purpose,
        code: String = "",
        for source: PeerSource,
        at now: Timestamp
    ) -> Bool {
        let parts = seal.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let madeAt = Int64(parts[0]), let mac = Data(base64Encoded: String(parts[1])) else {
            return false
        }
        let age = now - Timestamp(milliseconds: madeAt)
        guard age >= .zero, age < Self.lifetime else { return false }
        let message = Self.message(purpose, code: code, for: source, madeAt: madeAt)
        return HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: message, using: self.key)
    }

    /// Returns the bytes covered by the MAC.
    ///
    /// They are unambiguous, because the parts before the code contain no zero byte.
    private static func message(_ purpose: Purpose, code: String, for source: PeerSource, madeAt: Int64) -> Data {
        Data("remote-pin portal/1\0\(purpose.rawValue)\0\(madeAt)\0\(source)\0\(code)".utf8)
    }
}

/// Detects requests from other sites by headers that a browser sets and that pages cannot change.
///
/// Every browser since 2023 sends Sec-Fetch-Site over HTTPS. Origin is compared only if it names a site, since the
/// portal's Referrer-Policy makes it `null`. If a browser sends neither header, the form is protected by its
/// ``FormSeal``.
enum CrossSite {
    /// Returns whether the request was sent by another site.
    ///
    /// - Parameters:
    ///   - host: The host of the request, as forwarded by a proxy.
    static func isForged(fetchSite: String?, origin: String?, host: String?) -> Bool {
        // `none` means that the user initiated the request, for example by reloading the page.
        if let fetchSite, fetchSite != "same-origin", fetchSite != "none" { return true }
        guard let origin, origin != "null" else { return false }
        guard let host, let scheme = origin.firstRange(of: "://") else { return true }
        return origin[scheme.upperBound...].lowercased() != host.lowercased()
    }
}

/// The fields of a submitted form (application/x-www-form-urlencoded).
struct FormFields {
    /// The media type of forms.
    static let mediaType = "application/x-www-form-urlencoded"
    /// The maximum length of a body in bytes.
    ///
    /// The longest escaped code, a seal and the field names fit into it.
    static let longestByteCount = 2048

    private let values: [String: String]

    /// Parses a body.
    ///
    /// Returns nil if it contains a repeated field, an invalid escape or invalid UTF-8.
    init?(_ body: String) {
        var values: [String: String] = [:]
        for pair in body.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count == 2 ? parts[1] : ""),
                values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        self.values = values
    }

    /// Returns the value of a field, or an empty string if the field is missing.
    subscript(name: String) -> String { self.values[name] ?? "" }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}
