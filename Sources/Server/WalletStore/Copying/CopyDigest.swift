internal import PINPolicy
internal import Secrets
internal import Vocabulary

/// A digest of everything that a copy must contain, along with the number of wallets.
///
/// Each part is hashed together with the digest of the parts before it, so the store never has to be held in memory.
package struct CopyDigest: Hashable, Sendable {
    /// The number of wallets added so far.
    package private(set) var wallets = 0
    private var value = [UInt8](repeating: 0, count: 32)

    private enum Part: UInt8 {
        case facts = 1
        case entry, wallet
    }

    package init() {}

    package var hex: String { self.value.hex }

    package mutating func add(_ facts: CopiedFacts) {
        var fields = Fields()
        fields.add(facts.isSolutionRevoked ? 1 : 0)
        fields.add(facts.operatorValues.revision)
        fields.add(Int64(facts.operatorValues.values.count))
        for (name, value) in facts.operatorValues.values.sorted(by: { $0.key < $1.key }) {
            fields.add(Array(name.utf8))
            fields.add(Array(value.text.utf8))
            fields.add(value.setAt.milliseconds)
        }
        fields.add(Int64(facts.epochs.count))
        for epoch in facts.epochs {
            fields.add(Int64(epoch.number))
            fields.add(Array(epoch.rule.rawValue.utf8))
            fields.add(epoch.openedAt.milliseconds)
            fields.add(epoch.mac)
        }
        fields.add(Int64(facts.vaultVersions.count))
        for version in facts.vaultVersions {
            fields.add(Int64(version.version))
            fields.add(version.activeSince.milliseconds)
            fields.add(version.sealedAnewAt?.milliseconds)
            fields.add(version.check)
        }
        fields.add(facts.refresh?.begunAt.milliseconds)
        fields.add(facts.refresh?.cursor)
        fields.add(facts.refresh?.last)
        self.add(.facts, fields)
    }

    package mutating func add(_ entry: CopiedEntry, of list: CopiedList) {
        var fields = Fields()
        fields.add(Int64(list.rawValue))
        fields.add(entry.key)
        fields.add(entry.at.milliseconds)
        self.add(.entry, fields)
    }

    package mutating func add(_ wallet: CopiedWallet) {
        var fields = Fields()
        fields.add(wallet.row.key.number)
        for value in [
            wallet.id.bytes, wallet.attempts, wallet.row.state.encoded(), wallet.row.pinKeyID.bytes,
            wallet.row.unlockShare, wallet.row.identity, wallet.row.presenceShare, wallet.row.deletionCode,
            wallet.row.recoveryMAC, wallet.row.hardwareKey.bytes,
        ] { fields.add(value) }
        for value in [wallet.next.unlock, wallet.next.presence, wallet.deletionDigest] { fields.add(value) }
        fields.add(wallet.registeredAt.milliseconds)
        fields.add(Array(wallet.attested.utf8))
        for time in [wallet.unopenedSince, wallet.endedAt, wallet.lastSession] { fields.add(time?.milliseconds) }
        fields.add(wallet.isBlockRecorded ? 1 : 0)
        self.add(.wallet, fields)
        self.wallets += 1
    }

    private mutating func add(_ part: Part, _ fields: Fields) {
        let bytes = self.value + fields.bytes
        self.value.removeAll(keepingCapacity: true)
        self.value.appendSHA256(of: part.rawValue, bytes[...])
    }

    /// Encodes values unambiguously: each is written with its length, or marked as missing.
    private struct Fields {
        private(set) var bytes: [UInt8] = []

        mutating func add(_ value: [UInt8]?) {
            self.bytes.append(bigEndian: value.map { UInt64($0.count) + 1 } ?? 0, byteCount: 8)
            if let value { self.bytes += value }
        }

        mutating func add(_ number: Int64?) {
            self.bytes.append(number == nil ? 0 : 1)
            self.bytes.append(bigEndian: UInt64(bitPattern: number ?? 0), byteCount: 8)
        }
    }
}
