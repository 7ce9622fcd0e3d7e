internal import PostgreSQLClient
@testable internal import PostgreSQLStore
internal import Vocabulary

/// The contents of the store's tables.
struct DatabaseTables {
    struct Facts {
        var schemaVersion: Int64
        var keyCheck: [UInt8]
        var policy: String
        var epoch: Int64 = 1
        var isSolutionRevoked = false
        var lostCommits = false
        var revision: Int64 = 0
    }

    /// A row of `wallet_values`; the columns go from `version` to `next_presence`.
    struct Wide {
        var place: Int64
        var columns: [PostgreSQLValue]
        var deletionDigest: [UInt8]?
        var registeredAt: Int64
        var attested: String
    }

    struct Lease {
        var instance: String
        var program: String
        var schemaVersion: Int64
        var vaultKeys: String
        var lasts: Int64
        var renewedAt: Int64
        var renewals: Int64 = 0
        var acknowledged: Int64 = 0
        var connections: Int64 = 0
        var sessions: Int64 = 0
        var maintains = false
    }

    var facts: Facts?
    /// The rows of `vault_versions`, in order.
    var vaultVersions: [(version: Int64, since: Int64, check: [UInt8])] = []
    var wallets: [[UInt8]: [UInt8]] = [:]
    var wide: [[UInt8]: Wide] = [:]
    /// Ids and times by place.
    var unopened: [Int64: (id: [UInt8], at: Int64)] = [:]
    var deniedCodes: [[UInt8]: Int64] = [:]
    var ended: [Int64: (id: [UInt8], at: Int64)] = [:]
    var barred: Set<[UInt8]> = []
    var recordedBlocks: Set<[UInt8]> = []
    var lastSessions: [[UInt8]: Int64] = [:]
    /// By server and lane.
    var commitNumbers: [String: Int64] = [:]
    var auditMarks: [String: (number: Int64, mac: String)] = [:]
    var leases: [String: Lease] = [:]
    var revocationCount: Int64?
    var revocations: [Int64: PostgreSQLValue] = [:]
    /// The rows of `epochs`, in order.
    var epochs: [[PostgreSQLValue]] = []
    /// The commits that epochs took into account, by server and epoch: the numbers of both lanes, and the total.
    var accounted: [String: (server: String, epoch: Int64, numbers: [Int64])] = [:]

    /// The newest version of the vault's keys that was activated, with the check value of its key.
    var vaultKey: String? { self.vaultVersions.last.map { "\($0.version):\($0.check.hex)" } }

    /// The number of commits that servers have counted.
    var countedCommits: Int64 { self.commitNumbers.values.reduce(0, +) }

    /// The columns of both rows of a wallet, as a store reads them.
    func columns(of id: [UInt8]) -> [PostgreSQLValue]? {
        guard let wide = self.wide[id] else { return nil }
        let record = self.wallets[id].map { PostgreSQLValue.bytes($0) } ?? .null
        return [.bytes(id), record, .number(wide.place)] + wide.columns
    }

    /// A wallet's row with ``StoreTransaction/foundColumns``.
    func found(_ id: [UInt8]) -> [PostgreSQLValue] {
        let record = self.wallets[id].map { PostgreSQLValue.bytes($0) } ?? .null
        return [
            .number(self.wide[id]?.place ?? 0), .bytes(id), record, self.wide[id]?.columns.first ?? .null,
            .flag(self.recordedBlocks.contains(id)),
        ]
    }

    /// A wallet's row with ``StoreTransaction/recordColumns``, or nil if it lacks its wide row.
    func record(_ id: [UInt8]) -> [PostgreSQLValue]? {
        guard let wide = self.wide[id], let columns = self.columns(of: id) else { return nil }
        func time(_ time: Int64?) -> PostgreSQLValue { time.map { .number($0) } ?? .null }
        return [.number(wide.place), .bytes(id)] + columns + [
            wide.deletionDigest.map { .bytes($0) } ?? .null, .number(wide.registeredAt), .text(wide.attested),
            time(self.unopened[wide.place]?.at), time(self.ended[wide.place]?.at), time(self.lastSessions[id]),
            .flag(self.recordedBlocks.contains(id)),
        ]
    }

    /// The settings that the meaning of a commit depends on, and the facts.
    var factColumns: [PostgreSQLValue] {
        guard let facts = self.facts else { return [] }
        return [
            .text(Self.settings), .number(facts.epoch), .flag(facts.isSolutionRevoked), .text(facts.policy),
            .flag(facts.lostCommits), .flag(false), .text(SchemaObjects.checkedPrefix),
            self.vaultKey.map { .text($0) } ?? .null,
        ]
    }

    static let settings = "on|on|on|notice|f|FIRST 1 (standby)"

    /// The facts and the servers with a lease, in the order of their names; without a lease there is one row.
    var leaseRows: [[PostgreSQLValue]] {
        let first = self.factColumns + [.number(self.revocationCount ?? 0)]
        guard self.facts != nil, !self.leases.isEmpty else {
            return self.facts.map { _ in [first + Array(repeating: .null, count: 12)] } ?? []
        }
        return self.leases.sorted { $0.key < $1.key }.map { server, lease in
            first + [
                .text(server), .text(lease.instance), .text(lease.program), .number(lease.schemaVersion),
                .text(lease.vaultKeys), .number(lease.lasts), .number(lease.renewals), .number(lease.acknowledged),
                .number(lease.connections), .number(lease.sessions), .flag(lease.maintains),
                .number(lease.renewedAt),
            ]
        }
    }
}
