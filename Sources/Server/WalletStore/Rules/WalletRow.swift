package import PINPolicy
package import Vocabulary

/// The number of a wallet's row.
///
/// Numbers are assigned in ascending order, so that an insertion never splits an SQLite page. A split would leave
/// copies of other wallets' sealed shares in the page.
package struct WalletKey: Hashable, Sendable {
    package let number: Int64

    package init(number: Int64) {
        self.number = number
    }
}

/// A wallet's stored row, without its attempts and attested facts.
package struct WalletRow: Hashable, Sendable {
    package let key: WalletKey
    package var state: WalletState
    package var pinKeyID: PINKeyID
    package var unlockShare: Sealed
    package var identity: Sealed
    package var presenceShare: Sealed
    /// The sealed deletion code, empty if the wallet has none.
    package var deletionCode: Sealed
    /// The MAC of the linked recovery code, all zeros if the wallet is not linked.
    package var recoveryMAC: [UInt8]
    package var hardwareKey: SHA256Digest

    package static let recoveryMACByteCount = 32

    package init(
        key: WalletKey,
        state: WalletState,
        pinKeyID: PINKeyID,
        unlockShare: Sealed,
        identity: Sealed,
        presenceShare: Sealed,
        deletionCode: Sealed,
        recoveryMAC: [UInt8],
        hardwareKey: SHA256Digest
    ) {
        self.key = key
        self.state = state
        self.pinKeyID = pinKeyID
        self.unlockShare = unlockShare
        self.identity = identity
        self.presenceShare = presenceShare
        self.deletionCode = deletionCode
        self.recoveryMAC = recoveryMAC
        self.hardwareKey = hardwareKey
    }

    /// The row of a newly registered wallet, which no earlier epoch charges.
    package init(registering registration: NewRegistration, as key: WalletKey, in epoch: UInt32) {
        self.init(
            key: key,
            state: WalletState(),
            pinKeyID: registration.pinKeyID,
            unlockShare: registration.unlockShare,
            identity: registration.identity,
            presenceShare: registration.presenceShare,
            deletionCode: registration.deletionCode?.sealed ?? [],
            recoveryMAC: [UInt8](repeating: 0, count: Self.recoveryMACByteCount),
            hardwareKey: registration.hardwareKeyDigest
        )
        self.state.epoch = epoch
        self.state.assertionCounter = registration.assertionCounter
    }

    /// Permanently ends the wallet and overwrites both shares and the deletion code in full.
    package mutating func revoke(_ revocation: Revocation, at now: Timestamp) {
        self.state.revocation = revocation
        self.state.revokedAt = now
        // rule: store-shares-kept-at-revocation
        self.unlockShare = [UInt8](repeating: 0, count: self.unlockShare.count)
        self.presenceShare = [UInt8](repeating: 0, count: self.presenceShare.count)
        self.deletionCode = [UInt8](repeating: 0, count: self.deletionCode.count)
    }
}

extension WalletRow {
    /// Returns the values sealed by the vault.
    package func sealedValues(with next: NextShares) -> SealedValues {
        SealedValues(
            identity: self.identity,
            shares: self.state.revocation != nil
                ? nil
                : SealedValues.Shares(
                    unlock: self.unlockShare,
                    presence: self.presenceShare,
                    deletionCode: self.deletionCode.isEmpty ? nil : self.deletionCode,
                    next: next
                )
        )
    }

    /// Replaces the sealed values; returns false if the new values do not have the same lengths.
    package mutating func take(_ values: SealedValues) -> Bool {
        guard values.identity.count == self.identity.count, (values.shares == nil) == (self.state.revocation != nil)
        else { return false }
        if let shares = values.shares {
            guard shares.unlock.count == self.unlockShare.count, shares.presence.count == self.presenceShare.count,
                shares.deletionCode?.count ?? 0 == self.deletionCode.count
            else { return false }
            self.unlockShare = shares.unlock
            self.presenceShare = shares.presence
            self.deletionCode = shares.deletionCode ?? []
        }
        self.identity = values.identity
        return true
    }
}

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

    /// Decodes a state written by ``encoded()``; returns nil for any other bytes.
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

/// The rules for registrations, sessions and effects.
///
/// They apply to all stores and do not depend on storage.
extension WalletRow {
    /// Returns the reason why a registration must not replace this wallet, or nil if it may.
    package func rejection(of registration: NewRegistration) -> RegisterOutcome? {
        // rule: store-token-used-again
        guard self.state.revocation == nil, !self.state.sessionOpened,
            self.hardwareKey == registration.hardwareKeyDigest
        else { return .tokenUsed }
        return Self.follows(registration.assertionCounter, self.state.assertionCounter) ? nil : .counterNotIncreased
    }

    /// The decision whether to admit a session, made before the PIN state is examined.
    enum Admission: Hashable, Sendable {
        case rejected(SessionOutcome)
        /// The row was changed and must be stored.
        case changed
        case unchanged
    }

    /// Accepts the counter from a session's verified proof and records the first session.
    mutating func admit(_ session: NewSession) -> Admission {
        guard self.identity == session.identity else { return .rejected(.identityChanged) }
        guard Self.follows(session.assertionCounter, self.state.assertionCounter) else {
            return .rejected(.counterNotIncreased)
        }
        guard !self.state.sessionOpened || session.assertionCounter != nil else { return .unchanged }
        self.state.sessionOpened = true
        self.state.assertionCounter = session.assertionCounter ?? self.state.assertionCounter
        return .changed
    }

    /// Applies the effect of a right PIN to the row, for instructions that write it.
    mutating func apply(
        _ effect: Attempt.Effect,
        isDenied: (_ mac: [UInt8]) throws -> Bool
    ) rethrows -> AttemptOutcome {
        switch effect {
        case .replacePINKey(let identity, let newKeyID):
            self.identity = identity
            self.pinKeyID = newKeyID
            return .valid(.pinKeyReplaced)
        case .linkRecoveryCode(let mac):
            precondition(mac.count == Self.recoveryMACByteCount, "a recovery code's MAC has 32 bytes")
            if self.state.isLinked {
                return .valid(self.recoveryMAC == mac ? .recoveryCodeLinked : .linkedToAnother)
            }
            if try isDenied(mac) { return .valid(.codeDenied) }  // rule: store-denied-code-linked
            self.state.isLinked = true
            self.recoveryMAC = mac
            return .valid(.recoveryCodeLinked)
        default: preconditionFailure("other instructions write nothing")
        }
    }

    /// Returns whether a proof's counter is greater than the stored one.
    ///
    /// A wallet's kind of proof never changes, so a client cannot bypass the check by omitting the counter.
    private static func follows(_ counter: UInt32?, _ stored: UInt32?) -> Bool {
        switch (counter, stored) {
        case (nil, nil): return true
        case (let counter?, let stored?): return counter > stored  // rule: store-assertion-counter-repeated
        case (nil, _?), (_?, nil): return false
        }
    }
}

extension WalletState {
    /// Returns the revocation that prevents any release to a wallet: the wallet's own or, if there is none, the
    /// solution's.
    package func revocation(isSolutionRevoked: Bool) -> Revocation? {
        // rule: store-solution-revocation-ignored
        self.revocation ?? (isSolutionRevoked ? Revocation(reason: .solution, mayRegisterAnew: false) : nil)
    }
}
