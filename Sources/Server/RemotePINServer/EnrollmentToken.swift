internal import Vault
internal import Vocabulary

/// The token that completes an enrollment.
///
/// It contains the future wallet id and the time limit. The server does not store any of it, because the vault's MAC
/// proves that the server issued the token. The SHA-256 digest of the token is the attestation challenge, so the
/// evidence must have been made for this enrollment.
struct EnrollmentToken: Hashable {
    let walletID: WalletID
    let issuedAt: Timestamp
    let expiresAt: Timestamp
    /// Sixteen random bytes, which ensure that no two enrollments have the same challenge.
    let nonce: [UInt8]

    private static let version: UInt8 = 1
    private static let nonceByteCount = 16
    private static let payloadByteCount = 1 + 16 + 8 + 8 + Self.nonceByteCount
    private static let macByteCount = 32
    /// The maximum difference allowed between the clocks of two servers.
    private static let clockSkew: Duration = .seconds(60)

    /// Creates a token with a wallet id that has never been used.
    static func begin(at now: Timestamp, lifetime: Duration) -> EnrollmentToken {
        var generator = SystemRandomNumberGenerator()
        return EnrollmentToken(
            walletID: .random(using: &generator),
            issuedAt: now,
            expiresAt: now + lifetime,
            nonce: (0..<Self.nonceByteCount).map { _ in .random(in: .min ... .max, using: &generator) }
        )
    }

    /// The bytes covered by the MAC: version ‖ wallet id ‖ time of issue ‖ expiry ‖ nonce.
    var payload: [UInt8] {
        [Self.version] + self.walletID.bytes + self.issuedAt.milliseconds.bigEndianBytes
            + self.expiresAt.milliseconds.bigEndianBytes + self.nonce
    }

    /// Returns the token as sent to the client.
    func sealed(by vault: any Vault) async throws -> [UInt8] {
        self.payload + (try await vault.mac(self.payload, for: .enrollmentToken))
    }

    /// Verifies a token's MAC and then its times.
    static func open(_ bytes: [UInt8], at now: Timestamp, by vault: any Vault) async throws -> EnrollmentToken {
        guard bytes.count == Self.payloadByteCount + Self.macByteCount else {
            throw CallFailure.challengeInvalid(.notOurs)
        }
        let payload = Array(bytes.prefix(Self.payloadByteCount))
        let mac = Array(bytes.dropFirst(Self.payloadByteCount))
        let isOurs = try await vault.isMAC(mac, of: payload, for: .enrollmentToken)
        guard isOurs, let token = EnrollmentToken(payload: payload) else {
            throw CallFailure.challengeInvalid(.notOurs)
        }
        guard now < token.expiresAt, token.issuedAt <= now + Self.clockSkew else {
            throw CallFailure.challengeInvalid(.expired)
        }
        return token
    }

    private init(walletID: WalletID, issuedAt: Timestamp, expiresAt: Timestamp, nonce: [UInt8]) {
        self.walletID = walletID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.nonce = nonce
    }

    private init?(payload: [UInt8]) {
        guard payload.count == Self.payloadByteCount, payload[0] == Self.version,
            let walletID = WalletID(payload[1..<17])
        else { return nil }
        self.init(
            walletID: walletID,
            issuedAt: Timestamp(milliseconds: Int64(bitPattern: payload[17..<25].bigEndian)),
            expiresAt: Timestamp(milliseconds: Int64(bitPattern: payload[25..<33].bigEndian)),
            nonce: Array(payload[33...])
        )
    }
}
