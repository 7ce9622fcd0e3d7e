import Foundation
import HostSystem
import Secrets
import TestSupport
import Testing
import WalletStore

extension TemporaryFolder {
    func store(by key: RecordKey = .test) throws -> SQLiteWalletStore {
        try SQLiteWalletStore.open(folder: self.path, key: key, creating: true)
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
    static let test = RecordKey(RecordKey.secret(1))
    static let other = RecordKey(RecordKey.secret(2))

    static func secret(_ byte: UInt8) -> SecretBytes { SecretBytes(copying: [UInt8](repeating: byte, count: 32)) }
}
