/// A table whose rows are not part of a wallet's values; it is the same in all engines.
package enum SideTable: String, CaseIterable, Sendable {
    case barredHardwareKeys = "barred_hardware_keys"
    case deniedRecoveryCodes = "denied_recovery_codes"
    case epochs
    case operatorValues = "operator_values"
    case purgedCodes = "purged_codes"
    case shareRefresh = "share_refresh"
    case unopened
    case vaultVersions = "vault_versions"

    /// The columns in the order in which rows are inserted and returned; the first one identifies a row.
    package var columns: [String] {
        switch self {
        case .barredHardwareKeys: ["digest"]
        case .deniedRecoveryCodes: ["mac", "denied_at"]
        case .epochs: ["number", "rule", "opened_at", "mac"]
        case .operatorValues: ["name", "value", "set_at"]
        case .purgedCodes: ["digest", "revoked_at"]
        case .shareRefresh: ["begun_at", "place", "last"]
        case .unopened: ["place", "id", "registered_at"]
        case .vaultVersions: ["version", "active_since", "sealed_anew_at", "key_check"]
        }
    }

    /// The kinds of the columns.
    var kinds: [ColumnKind] {
        switch self {
        case .barredHardwareKeys: [.bytes]
        case .deniedRecoveryCodes, .purgedCodes: [.bytes, .number]
        case .epochs: [.number, .text, .number, .bytes]
        case .operatorValues: [.text, .text, .number]
        case .shareRefresh: [.number, .number, .number]
        case .unopened: [.number, .bytes, .number]
        case .vaultVersions: [.number, .number, .number, .bytes]
        }
    }
}

/// The kind of a column's values, any of which may be NULL.
enum ColumnKind {
    case number
    case text
    case bytes

    /// A value below every key of this kind.
    var least: ColumnValue {
        switch self {
        case .number: .number(.min)
        case .text: .text("")
        case .bytes: .bytes([])
        }
    }
}

/// A statement on a side table, without its values.
///
/// An SQL engine runs the text. An engine without SQL carries out the action on the rows that meet all conditions.
package struct SideStatement: Sendable {
    package enum Action: Sendable {
        /// Returns rows in the order of their first column.
        ///
        /// The values are those of the conditions and, if `isLimited` is true, the maximum number of rows.
        case read(isLimited: Bool)
        /// Inserts a row with these values.
        case insert(Existing)
        /// Sets a column, given by its position; the values are the new one and those of the conditions.
        case update(column: Int)
        /// Deletes rows and returns them.
        case delete
    }

    /// The treatment of an existing row with the same first column.
    package enum Existing: Sendable {
        case isConflict
        case stays
        case isReplaced
    }

    package enum Comparison: String, Sendable {
        case equals = "="
        case isAbove = ">"
        case isBelow = "<"
    }

    /// A condition that compares a column, given by its position, with a value.
    package struct Condition: Sendable {
        package let column: Int
        package let comparison: Comparison
    }

    package let table: SideTable
    package let action: Action
    package let conditions: [Condition]
    /// The statement in SQL, with its values as `$1`, `$2` and so on, in this order.
    package let text: String

    private init(_ table: SideTable, _ action: Action, _ conditions: [(String, Comparison)] = []) {
        self.table = table
        self.action = action
        self.conditions = conditions.map { Condition(column: table.position(of: $0), comparison: $1) }
        self.text = Self.text(table, action, self.conditions)
    }

    package static func read(
        _ table: SideTable,
        where conditions: (String, Comparison)...,
        isLimited: Bool = false
    ) -> Self {
        Self(table, .read(isLimited: isLimited), conditions)
    }

    package static func insert(into table: SideTable, ifKnown existing: Existing = .isConflict) -> Self {
        Self(table, .insert(existing))
    }

    package static func update(
        _ table: SideTable,
        _ column: String,
        where conditions: (String, Comparison)...
    ) -> Self {
        Self(table, .update(column: table.position(of: column)), conditions)
    }

    package static func delete(from table: SideTable, where conditions: (String, Comparison)...) -> Self {
        Self(table, .delete, conditions)
    }

    private static func text(_ table: SideTable, _ action: Action, _ conditions: [Condition]) -> String {
        let (name, columns) = (table.rawValue, table.columns)
        let all = columns.joined(separator: ", ")
        func filter(from first: Int) -> String {
            let tests = conditions.enumerated().map { place, condition in
                "\(columns[condition.column]) \(condition.comparison.rawValue) $\(first + place)"
            }
            return tests.isEmpty ? "" : " where \(tests.joined(separator: " and "))"
        }
        switch action {
        case .read(let isLimited):
            let limit = isLimited ? " limit $\(conditions.count + 1)" : ""
            return "select \(all) from \(name)\(filter(from: 1)) order by \(columns[0])\(limit)"
        case .insert(let existing):
            let values = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
            let changes = columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            let conflict =
                switch existing {
                case .isConflict: ""
                case .stays: " on conflict do nothing"
                case .isReplaced: " on conflict (\(columns[0])) do update set \(changes)"
                }
            return "insert into \(name) (\(all)) values (\(values))\(conflict)"
        case .update(let column): return "update \(name) set \(columns[column]) = $1\(filter(from: 2))"
        case .delete: return "delete from \(name)\(filter(from: 1)) returning \(all)"
        }
    }
}

extension SideTable {
    fileprivate func position(of column: String) -> Int {
        guard let position = self.columns.firstIndex(of: column) else {
            preconditionFailure("\(self.rawValue) has no column \(column)")
        }
        return position
    }
}
