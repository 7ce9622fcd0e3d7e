import Foundation
import HostSystem
import TestSupport
import Testing
import WalletStore

extension TemporaryFolder {
    func store() throws -> SQLiteWalletStore {
        try SQLiteWalletStore.open(folder: self.path, creating: true)
    }

    /// All that the database and its log hold.
    ///
    /// Read by `DurableFile`: `Data(contentsOf:)` leaks its buffer where the file is empty, as a truncated log is.
    func contents() throws -> Data {
        var all = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: self.path) where name.hasPrefix("wallets.db") {
            all.append(contentsOf: try DurableFile.read(self.path + "/" + name, atMost: 1 << 30))
        }
        return all
    }
}
