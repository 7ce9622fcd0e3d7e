internal import Secrets
internal import Statements
internal import Vocabulary

/// Data that can only be read while the wallet is unlocked, because it is sealed under the data key.
struct AccessData: Hashable, Sendable {
    /// The check value of the unlock share, which authenticates the share when no slot can be opened
    /// (docs/testing-guide.md, The safe biometric mode).
    var shareCheck: [UInt8]
    /// The check value of the next unlock share, or nil if the shares are not being replaced.
    var nextShareCheck: [UInt8]?
    /// The deletion code, until the user confirms having written it down.
    var deletionCode: DeletionCode?

    private static let version: UInt8 = 1
    /// The version that also contains the next unlock share's check value.
    private static let versionWithNext: UInt8 = 2
    private static let checkByteCount = 32

    init(shareCheck: [UInt8], deletionCode: DeletionCode?) {
        self.shareCheck = shareCheck
        self.deletionCode = deletionCode
    }

    /// Opens data returned by ``sealed(under:walletID:)``.
    init(
        opening sealed: [UInt8],
        under dataKey: borrowing SecretBytes,
        walletID: WalletID
    ) throws(SealBroken) {
        let opened = try dataKey.open(sealed, associatedData: Self.label(walletID)).exposedBytes()
        let checks = opened.first == Self.versionWithNext ? 2 : 1
        guard opened.first == Self.version || checks == 2, opened.count >= 1 + checks * Self.checkByteCount else {
            throw SealBroken()
        }
        self.shareCheck = Array(opened[1...Self.checkByteCount])
        if checks == 2 { self.nextShareCheck = Array(opened[(1 + Self.checkByteCount)...].prefix(Self.checkByteCount)) }
        let code = opened.dropFirst(1 + checks * Self.checkByteCount)
        self.deletionCode = DeletionCode(String(decoding: code, as: UTF8.self))
    }

    func sealed(under dataKey: borrowing SecretBytes, walletID: WalletID) -> [UInt8] {
        var bytes = [self.nextShareCheck == nil ? Self.version : Self.versionWithNext] + self.shareCheck
        bytes += self.nextShareCheck ?? []
        if let code = self.deletionCode { bytes += Array(code.characters.utf8) }
        return dataKey.seal(SecretBytes(copying: bytes), associatedData: Self.label(walletID))
    }

    /// Returns whether this is the wallet's unlock share or the one that will replace it.
    func accepts(_ share: Share) -> Bool {
        let check = SlotKeys.checkValue(share: share)
        let isNext = self.nextShareCheck.map { constantTimeEqual(check, $0) } ?? false
        return constantTimeEqual(check, self.shareCheck) || isNext
    }

    private static func label(_ walletID: WalletID) -> [UInt8] {
        Array("access data".utf8) + [0] + walletID.bytes
    }
}
