internal import Secrets
internal import Vocabulary

/// The data that only an unlocked wallet may read; sealed under the data key.
struct AccessData: Hashable, Sendable {
    /// The check value of the unlock share, which authenticates it when no slot can be opened
    /// (safe-biometric.md).
    var shareCheck: [UInt8]
    /// The deletion code, until the user confirms that it is written down.
    var deletionCode: DeletionCode?

    private static let version: UInt8 = 1
    private static let checkByteCount = 32

    init(shareCheck: [UInt8], deletionCode: DeletionCode?) {
        self.shareCheck = shareCheck
        self.deletionCode = deletionCode
    }

    /// Opens the result of ``sealed(under:walletID:)``.
    init(
        opening sealed: [UInt8],
        under dataKey: borrowing SecretBytes,
        walletID: WalletID
    ) throws(SealBroken) {
        let opened = try dataKey.open(sealed, associatedData: Self.label(walletID)).exposedBytes()
        guard opened.first == Self.version, opened.count >= 1 + Self.checkByteCount else { throw SealBroken() }
        self.shareCheck = Array(opened[1...Self.checkByteCount])
        self.deletionCode = DeletionCode(String(decoding: opened.dropFirst(1 + Self.checkByteCount), as: UTF8.self))
    }

    func sealed(under dataKey: borrowing SecretBytes, walletID: WalletID) -> [UInt8] {
        var bytes = [Self.version] + self.shareCheck
        if let code = self.deletionCode { bytes += Array(code.characters.utf8) }
        return dataKey.seal(SecretBytes(copying: bytes), associatedData: Self.label(walletID))
    }

    private static func label(_ walletID: WalletID) -> [UInt8] {
        Array("access data".utf8) + [0] + walletID.bytes
    }
}
