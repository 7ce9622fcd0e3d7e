import Foundation
import HostSystem
import Secrets
import TestSupport
import Testing
import WalletStore

extension TemporaryFolder {
    func store() throws -> SQLiteWalletStore {
        try SQLiteWalletStore.open(folder: self.path, key: .test, creating: true)
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

extension RecordKey {
    /// The key of the stores of these tests; the same in killed processes.
    static let test = RecordKey(SecretBytes(copying: [UInt8](repeating: 1, count: 32)))
    static let other = RecordKey(SecretBytes(copying: [UInt8](repeating: 2, count: 32)))
}
