internal import DictionaryStore
internal import PostgreSQLClient
@testable internal import PostgreSQLStore
internal import Vocabulary
internal import WalletStore

/// The contents of the store's tables.
struct DatabaseTables {
    struct Facts {
        var schemaVersion: Int64
        var keyCheck: [UInt8]
        var policy: String
        var epoch: Int64 = 1
        var isSolutionRevoked = false
        var lostCommits = false
    }

    /// A row of `wallet_values`; the columns go from `version` to `next_presence`.
    struct Wide {
        let place: Int64
        var columns: [PostgreSQLValue]
        let registration: NewRegistration
    }

    struct Lease {
        var holder: LeaseStatement.Holder
        var renewedAt: Int64
        var renewals: Int64 = 0
        /// The last renewal.
        var last: LeaseStatement.Renewal?
    }

    /// A lane of a server, whose commits are numbered.
    struct Lane: Hashable {
        let server: String
        let lane: CommitLane
    }

    var facts: Facts?
    var wallets: [WalletID: [UInt8]] = [:]
    var wide: [WalletID: Wide] = [:]
    var sides = SideRows()
    /// Times by place.
    var ended: [Int64: Int64] = [:]
    var recordedBlocks: Set<WalletID> = []
    var lastSessions: [WalletID: Int64] = [:]
    var commitNumbers: [Lane: Int64] = [:]
    var auditMarks: [String: StoredAuditMark] = [:]
    var leases: [String: Lease] = [:]
    var revocationCount: Int64 = 0
    var revocations: [Int64: PostgreSQLValue] = [:]
    /// The commits that epochs took into account.
    var accounted: [AccountedCommits] = []

    /// The newest version of the vault's keys that was activated, with the check value of its key.
    var vaultKey: String? {
        self.sides[.vaultVersions].last.map { "\($0.numberIfAny(0) ?? 0):\(($0.bytesIfAny(3) ?? []).hex)" }
    }

    /// The number of commits that servers have counted.
    var countedCommits: Int64 { self.commitNumbers.values.reduce(0, +) }

    /// The columns of both rows of a wallet, or nil if it has no wide one.
    func columns(of id: WalletID) -> [PostgreSQLValue]? {
        self.wide[id].map { [.bytes(id.bytes), PostgreSQLValue(self.wallets[id]), .number($0.place)] + $0.columns }
    }

    /// A wallet's row of a search, or nil if it lacks its wide row.
    func found(_ id: WalletID, _ columns: FindStatement.Columns) -> [PostgreSQLValue]? {
        guard let wide = self.wide[id], let values = self.columns(of: id) else { return nil }
        let recorded = PostgreSQLValue.flag(self.recordedBlocks.contains(id))
        let key = [PostgreSQLValue.number(wide.place), .bytes(id.bytes)]
        switch columns {
        case .found: return key + [PostgreSQLValue(self.wallets[id]), wide.columns[0], recorded]
        case .records:
            let registration = wide.registration
            let times = [
                self.sides[.unopened, .number(wide.place)]?.numberIfAny(2), self.ended[wide.place],
                self.lastSessions[id],
            ]
            return key + values + [
                PostgreSQLValue(registration.deletionCode?.digest.bytes), .number(registration.now.milliseconds),
                .text(registration.attested),
            ] + times.map { PostgreSQLValue($0) } + [recorded]
        }
    }

    /// The row of a search for a registration without a session; if it was not made before a time, without the id.
    func found(_ mark: SideRows.Row, registeredBefore time: Int64) -> [PostgreSQLValue] {
        let place = mark.numberIfAny(0) ?? 0
        guard let id = mark.bytesIfAny(1).flatMap({ WalletID($0) }), mark.numberIfAny(2) ?? 0 < time else {
            return [.number(place), .null, .null, .null, .flag(false)]
        }
        // Another wallet may have taken the id.
        let version = self.wide[id].flatMap { $0.place == place ? $0.columns[0] : nil } ?? .null
        return [
            .number(place), .bytes(id.bytes), PostgreSQLValue(self.wallets[id]), version,
            .flag(self.recordedBlocks.contains(id)),
        ]
    }

    /// The settings that the meaning of a commit depends on, and the facts.
    var factColumns: [PostgreSQLValue] {
        guard let facts = self.facts else { return [] }
        return [
            .text(Self.settings), .number(facts.epoch), .flag(facts.isSolutionRevoked), .text(facts.policy),
            .flag(facts.lostCommits), .flag(false), .text(SchemaObjects.checkedPrefix), PostgreSQLValue(self.vaultKey),
        ]
    }

    static let settings = "on|on|on|notice|f|FIRST 1 (standby)"

    /// The facts and the servers with a lease, in the order of their names; without a lease there is one row.
    var leaseRows: [[PostgreSQLValue]] {
        let first = self.factColumns + [.number(self.revocationCount)]
        guard self.facts != nil, !self.leases.isEmpty else {
            return self.facts.map { _ in [first + Array(repeating: .null, count: 12)] } ?? []
        }
        return self.leases.sorted { $0.key < $1.key }.map { server, lease in
            let (holder, last) = (lease.holder, lease.last)
            return first + [
                .text(server), .text(holder.instance), .text(holder.program), .number(holder.schemaVersion),
                .text(last?.vaultKeys ?? holder.vaultKeys), .number(holder.lasts), .number(lease.renewals),
                .number(last?.acknowledged ?? 0), .number(Int64(last?.connections ?? 0)),
                .number(Int64(last?.sessions ?? 0)), .flag(last.map { !$0.takesMaintenance } ?? false),
                .number(lease.renewedAt),
            ]
        }
    }
}
