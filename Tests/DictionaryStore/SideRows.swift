package import WalletStore

/// The rows of the side tables.
package struct SideRows: Hashable, Sendable {
    /// The first column of a row has a value that another row of its table has.
    package struct Conflict: Error {}

    package struct Row: StoredColumns, Hashable, Sendable {
        package var values: [ColumnValue]

        package func numberIfAny(_ column: Int) -> Int64? {
            guard case .number(let number) = self.values[column] else { return nil }
            return number
        }

        package func textIfAny(_ column: Int) -> String? {
            guard case .text(let text) = self.values[column] else { return nil }
            return text
        }

        package func bytesIfAny(_ column: Int) -> [UInt8]? {
            guard case .bytes(let bytes) = self.values[column] else { return nil }
            return bytes
        }
    }

    /// The rows by their first column.
    private var tables: [SideTable: [ColumnValue: Row]] = [:]

    package init() {}

    /// The row with this first column, or nil if there is none.
    package subscript(table: SideTable, key: ColumnValue) -> Row? { self.tables[table]?[key] }

    /// The rows of a table, in the order of their first column.
    package subscript(table: SideTable) -> [Row] {
        (self.tables[table] ?? [:]).values.sorted { Self.precedes($0.values[0], $1.values[0]) }
    }

    package func count(of table: SideTable) -> Int { self.tables[table]?.count ?? 0 }

    /// Carries out a statement; returns the rows that it reads or deletes.
    ///
    /// - Throws: ``Conflict`` for the insertion of a row that exists, if the statement does not say otherwise.
    package mutating func carryOut(_ statement: SideStatement, _ values: [ColumnValue]) throws -> [Row] {
        let table = statement.table
        switch statement.action {
        case .read(let isLimited):
            let found = self.rows(of: statement, values)
            guard isLimited, case .number(let limit)? = values.last else { return found }
            return Array(found.prefix(Int(limit)))
        case .insert(let existing):
            if self[table, values[0]] != nil {
                switch existing {
                case .isConflict: throw Conflict()
                case .stays: return []
                case .isReplaced: break
                }
            }
            self.tables[table, default: [:]][values[0]] = Row(values: values)
            return []
        case .update(let column):
            for var row in self.rows(of: statement, values.dropFirst()) {
                row.values[column] = values[0]
                self.tables[table]?[row.values[0]] = row
            }
            return []
        case .delete:
            let found = self.rows(of: statement, values)
            for row in found { self.tables[table]?[row.values[0]] = nil }
            return found
        }
    }

    /// Returns the rows that meet the conditions of a statement, whose values are the first of these, in the order of
    /// their first column.
    private func rows(of statement: SideStatement, _ values: some Collection<ColumnValue>) -> [Row] {
        let conditions = Array(zip(statement.conditions, values))
        func isMet(_ row: Row) -> Bool {
            conditions.allSatisfy { condition, value in
                let own = row.values[condition.column]
                switch condition.comparison {
                case .equals: return own == value
                case .isAbove: return Self.precedes(value, own)
                case .isBelow: return Self.precedes(own, value)
                }
            }
        }
        if let (_, key) = conditions.first(where: { $0.0.column == 0 && $0.0.comparison == .equals }) {
            return [self[statement.table, key]].compactMap(\.self).filter(isMet)
        }
        return self[statement.table].filter(isMet)
    }

    /// Compares two values of a column.
    private static func precedes(_ first: ColumnValue, _ second: ColumnValue) -> Bool {
        switch (first, second) {
        case (.number(let first), .number(let second)): first < second
        case (.text(let first), .text(let second)): Array(first.utf8).lexicographicallyPrecedes(Array(second.utf8))
        case (.bytes(let first), .bytes(let second)): first.lexicographicallyPrecedes(second)
        default: false
        }
    }
}
