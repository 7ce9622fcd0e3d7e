internal import Foundation
internal import GRDB
internal import PreparedSQL
import Vocabulary

extension WalletRow {
    /// The columns, in the order in which ``init(_:)`` reads them.
    static let columns = """
        key, state, pin_key_id, unlock_share, identity, presence_share, deletion_code, recovery_mac, hardware_key
        """
    static let columnCount: Int32 = 9

    /// Reads a row with these ``columns``.
    init(_ row: borrowing PreparedRow) throws {
        let (key, state) = try row.keyAndState()
        self.init(
            key: key,
            state: state,
            pinKeyID: try row.identifier(2),
            unlockShare: try row.kept(3),
            identity: try row.kept(4),
            presenceShare: try row.kept(5),
            deletionCode: try row.kept(6),
            recoveryMAC: try row.kept(7),
            hardwareKey: try row.identifier(8)
        )
        guard self.recoveryMAC.count == Self.recoveryMACByteCount else { throw StoreError.corrupt }
    }
}

extension PreparedRow {
    /// Reads the wallet's key and state, which are always the first columns.
    borrowing func keyAndState() throws -> (WalletKey, WalletState) {
        guard let key = self.number(0), let state = WalletState(decoding: try self.kept(1)) else {
            throw StoreError.corrupt
        }
        return (WalletKey(number: key), state)
    }

    /// Returns the bytes in a column.
    ///
    /// Throws if it has any other type, which this code never writes.
    borrowing func kept(_ column: Int32) throws -> [UInt8] {
        guard let bytes = self.bytes(column) else { throw StoreError.corrupt }
        return bytes
    }

    borrowing func identifier<Kind>(_ column: Int32) throws -> FixedBytes<Kind> {
        guard let value = FixedBytes<Kind>(try self.kept(column)) else { throw StoreError.corrupt }
        return value
    }
}

extension Row {
    /// Returns the bytes in a column.
    ///
    /// Throws if it has any other type, which this code never writes.
    func bytes(_ index: Int) throws -> [UInt8] {
        guard let bytes = try self.bytesIfAny(index) else { throw StoreError.corrupt }
        return bytes
    }

    func bytesIfAny(_ index: Int) throws -> [UInt8]? {
        try self.withUnsafeData(atIndex: index) { data in data.map { [UInt8]($0) } }
    }

    func identifier<Kind>(_ index: Int) throws -> FixedBytes<Kind> {
        guard let value = FixedBytes<Kind>(try self.bytes(index)) else { throw StoreError.corrupt }
        return value
    }

    func walletState(_ index: Int) throws -> WalletState {
        guard let state = WalletState(decoding: try self.bytes(index)) else { throw StoreError.corrupt }
        return state
    }

    func number(_ index: Int) throws -> Int64 {
        guard let number = Int64.fromDatabaseValue(self[index]) else { throw StoreError.corrupt }
        return number
    }
}

extension [UInt8] {
    /// The value as a statement argument.
    var blob: DatabaseValue { Data(self).databaseValue }
}

extension FixedBytes {
    /// The value as a statement argument.
    var blob: DatabaseValue { self.bytes.blob }
}
