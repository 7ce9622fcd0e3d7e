package import PINPolicy
package import Vocabulary

/// An epoch that was opened by a restore.
package struct StoredEpoch: Hashable, Sendable {
    /// The number of the epoch, at least 2 because the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's MAC over this record and the MAC of the previous record.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
    }

    /// The statement that reads every epoch except the first, in order.
    package static let statement = SideStatement.read(.epochs)

    /// Reads the rows that the statement returned; throws ``StoreError/corrupt`` if there is a gap.
    package static func all(in rows: [some StoredColumns]) throws -> [StoredEpoch] {
        try rows.enumerated().map { place, row in
            guard try row.number(0) == Int64(place + 2), let rule = EpochRule(rawValue: try row.text(1)) else {
                throw StoreError.corrupt
            }
            return StoredEpoch(number: place + 2, rule: rule, openedAt: try row.time(2), mac: try row.bytes(3))
        }
    }
}

package struct StoredEpochs: StoreStep {
    package static let access = StepAccess.reading

    package init() {}

    package func run(in rows: some Rows) throws -> [StoredEpoch] {
        try StoredEpoch.all(in: rows.query(StoredEpoch.statement, []))
    }
}

private let opening = SideStatement.insert(into: .epochs)
private let postponement = SideStatement.update(.unopened, "registered_at", where: ("registered_at", .isBelow))

package struct OpenEpochs: StoreStep {
    let epochs: [StoredEpoch]
    package static let access = StepAccess.changingFacts

    package init(_ epochs: [StoredEpoch]) { self.epochs = epochs }

    package func run(in rows: some Rows) throws {
        for epoch in self.epochs {
            let opened = ColumnValue.number(epoch.openedAt.milliseconds)
            try rows.query(
                opening,
                [.number(Int64(epoch.number)), .text(epoch.rule.rawValue), opened, .bytes(epoch.mac)]
            )
            // The period for the first session starts again, because sessions opened since the backup are unknown.
            try rows.query(postponement, [opened, opened])
        }
        try rows.epochsWereOpened(self.epochs.count)
    }
}

extension WalletStore {
    /// Returns every epoch except the first.
    package func epochs() async throws(StoreError) -> [StoredEpoch] { try await self.perform(StoredEpochs()) }

    /// Appends epochs.
    ///
    /// A restore calls this before the server accepts clients.
    package func open(_ epochs: [StoredEpoch]) async throws(StoreError) { try await self.perform(OpenEpochs(epochs)) }
}
