import Foundation
import HostSystem
import TestSupport
import Testing
import WalletStore

extension TemporaryFolder {
    func store() throws -> SQLiteWalletStore {
        try SQLiteWalletStore.open(folder: self.path, creating: true)
    }

    /// The contents of the database and its log.
    ///
    /// Uses `DurableFile`, because `Data(contentsOf:)` leaks its buffer for an empty file, such as a truncated
    /// log.
    func contents() throws -> Data {
        var all = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: self.path) where name.hasPrefix("wallets.db") {
            all.append(contentsOf: try DurableFile.read(self.path + "/" + name, atMost: 1 << 30))
        }
        return all
    }
}
