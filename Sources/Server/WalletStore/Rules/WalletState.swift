package import PINPolicy
package import Vocabulary

/// The part of a wallet's row that changes while its sealed values stay the same.
///
/// It is always ``byteCount`` bytes long.
///
///     0       version of the form, 1
///     1       0 in use · 1 revoked by its user · 2 by an operator · 3 through its recovery code
///     2       bit 0: may register again · bit 1: a session was opened · bit 2: an assertion counter exists ·
///             bit 3: linked to a recovery code · bit 4: revoked with the deletion code
///     3       0
///     4–11    time of the revocation, milliseconds since 1970
///     12–15   App Attest counter
///     16–19   the epoch up to which the wallet's counts are charged, minus one
///     20–23   number of writes of the row, modulo 2^32
///
/// The width is fixed so that no write moves a row. Moving a row would leave copies of sealed shares in pages. If a row
/// grew with only some verdicts, a full disk could reveal the verdict.
package struct WalletState: Hashable, Sendable {
    package var revocation: Revocation?
    /// The time of the revocation.
    ///
    /// Only meaningful if the wallet is revoked.
    package var revokedAt = Timestamp(milliseconds: 0)
    package var sessionOpened = false
    package var assertionCounter: UInt32?
    package var isLinked = false
    /// The store's epoch when the wallet was registered or when its attempts were last judged.
    ///
    /// If it is earlier than the store's current epoch, the counts come from a backup and restore charges must still be
    /// applied.
    package var epoch: UInt32 = 1
    package var writes: UInt32 = 0

    package static let byteCount = 24
    private static let form: UInt8 = 1

    package init() {}

    /// Decodes a state written by ``encoded()``.
    ///
    /// Returns nil for any other bytes.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.form, bytes[3] == 0 else { return nil }
        let flags = bytes[2]
        guard flags & ~31 == 0 else { return nil }
        self.revokedAt = Timestamp(milliseconds: Int64(bitPattern: bytes[4..<12].bigEndian))
        self.sessionOpened = flags & 2 != 0
        let counter = UInt32(truncatingIfNeeded: bytes[12..<16].bigEndian)
        if flags & 4 != 0 { self.assertionCounter = counter } else if counter != 0 { return nil }
        self.isLinked = flags & 8 != 0
        let restores = UInt32(truncatingIfNeeded: bytes[16..<20].bigEndian)
        guard restores < .max else { return nil }
        self.epoch = restores + 1
        self.writes = UInt32(truncatingIfNeeded: bytes[20..<24].bigEndian)
        guard flags & 16 == 0 || bytes[1] == 1 else { return nil }
        switch bytes[1] {
        case 0: if flags & 1 != 0 { return nil }
        case 1:
            self.revocation = Revocation(
                reason: .user,
                mayRegisterAnew: flags & 1 != 0,
                withDeletionCode: flags & 16 != 0
            )
        case 2: self.revocation = Revocation(reason: .wallet, mayRegisterAnew: flags & 1 != 0)
        case 3: self.revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: flags & 1 != 0)
        default: return nil
        }
    }

    package func encoded() -> [UInt8] {
        var flags: UInt8 = 0
        if self.revocation?.mayRegisterAnew == true { flags |= 1 }
        if self.sessionOpened { flags |= 2 }
        if self.assertionCounter != nil { flags |= 4 }
        if self.isLinked { flags |= 8 }
        if self.revocation?.withDeletionCode == true { flags |= 16 }
        var bytes: [UInt8] = [Self.form, Self.code(of: self.revocation?.reason), flags, 0]
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(bigEndian: UInt64(bitPattern: self.revokedAt.milliseconds), byteCount: 8)
        bytes.append(bigEndian: UInt64(self.assertionCounter ?? 0), byteCount: 4)
        bytes.append(bigEndian: UInt64(self.epoch - 1), byteCount: 4)
        bytes.append(bigEndian: UInt64(self.writes), byteCount: 4)
        return bytes
    }

    private static func code(of reason: Revocation.Reason?) -> UInt8 {
        switch reason {
        case nil: return 0
        case .user: return 1
        case .wallet: return 2
        case .recoveryCode: return 3
        case .solution: preconditionFailure("a revocation of the solution is not stored in wallets")
        }
    }
}

extension WalletState {
    /// Returns the charges that the wallet's counts do not include yet, given the charges of all epochs after the
    /// first.
    ///
    /// Throws if the wallet's epoch is later than the store's, because such a wallet comes from another store.
    package func missing(of charges: [EpochCharge]) throws(StoreError) -> ArraySlice<EpochCharge> {
        guard self.epoch <= charges.count + 1 else { throw .corrupt }
        return charges[Int(self.epoch - 1)...]
    }
}
