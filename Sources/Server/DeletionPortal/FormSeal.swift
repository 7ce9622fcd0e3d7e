internal import Crypto
internal import Foundation
internal import Transport
internal import Vocabulary

/// Shows that a form was made by this portal, lately, for the source that sends it, and for what it now asks.
///
/// What a forged request could do is use up the tries of the person in whose browser it is made. So the seal holds for
/// that person's source: who can get one there could use the tries up without a forgery. There is no cookie, and so
/// nothing to consent to and nothing that fails where cookies are off. The seal of the deletion itself also holds for one
/// code: it is on the page that asks whether to delete, so nobody gets past that question.
struct FormSeal: Sendable {
    /// What a form asks for.
    enum Purpose: String {
        /// To be asked whether a code's wallet is to be deleted.
        case check
        /// To have it deleted.
        case delete
    }

    /// How long a form may stay open.
    static let lifetime: Duration = .seconds(3600)

    /// New with each start; forms that were open then are shown again.
    private let key = SymmetricKey(size: .bits256)

    /// The seal of a form: when it was made, and the MAC.
    func seal(_ purpose: Purpose, code: String = "", for source: PeerSource, at now: Timestamp) -> String {
        let message = Self.message(purpose, code: code, for: source, madeAt: now.milliseconds)
        let mac = HMAC<SHA256>.authenticationCode(for: message, using: self.key)
        return "\(now.milliseconds).\(Data(mac).base64EncodedString())"
    }

    /// Whether the seal is one of this portal's for all of that.
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

    /// The parts in front of the code hold no zero byte.
    private static func message(
        _ purpose: Purpose,
        code: String,
        for source: PeerSource,
        madeAt: Int64
    ) -> Data {
        Data("remote-pin portal/1\0\(purpose.rawValue)\0\(madeAt)\0\(source)\0\(code)".utf8)
    }
}
