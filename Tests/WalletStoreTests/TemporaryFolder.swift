import Foundation
import Testing
import WalletStore

/// A folder that goes with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID())").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    func store() throws -> SQLiteWalletStore {
        try SQLiteWalletStore.open(folder: self.path, creating: true)
    }

    /// All that the database and its log hold.
    func contents() throws -> Data {
        var all = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: self.path) where name.hasPrefix("wallets.db") {
            all.append(try Data(contentsOf: URL(fileURLWithPath: self.path + "/" + name)))
        }
        return all
    }
}
