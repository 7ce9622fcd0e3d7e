import HostSystem
import Secrets
import TestSupport
import Testing
import Vocabulary

@testable import LoadEngine

/// Files of wallets that no server knows.
enum FleetOfTests {
    static let fingerprint: SHA256Digest = digest(1)

    static func digest(_ byte: UInt8) -> SHA256Digest {
        guard let digest = SHA256Digest([UInt8](repeating: byte, count: 32)) else {
            preconditionFailure("a digest has 32 bytes")
        }
        return digest
    }

    /// A wallet as a server could have registered it.
    static func wallet(_ platform: Platform = .android) -> NewWallet {
        NewWallet(
            walletID: .random(),
            platform: platform,
            shareCheck: FleetWallet.check(of: Share.random()),
            counter: platform == .iOS ? 1 : 0,
            generation: 0
        )
    }

    /// Creates a file in a folder with these slots registered.
    static func make(
        in folder: TemporaryFolder,
        wallets: Int,
        registered: some Sequence<Int>,
        platform: Platform = .android
    ) throws -> Fleet {
        let path = folder.file("wallets")
        let fleet = try Fleet.create(at: path, wallets: wallets, fingerprint: self.fingerprint)
        for slot in registered { try fleet.keep(self.wallet(platform), in: slot) }
        return fleet
    }

    static func open(in folder: TemporaryFolder) throws -> Fleet {
        try Fleet.open(folder.file("wallets"), for: self.fingerprint)
    }

    static func bytes(in folder: TemporaryFolder) throws -> [UInt8] {
        try DurableFile.read(folder.file("wallets"), atMost: 1 << 20)
    }

    /// Replaces the file's bytes, as a crash of the machine or a faulty disk would.
    static func replace(_ bytes: [UInt8], in folder: TemporaryFolder) throws {
        try DurableFile.write(bytes, to: folder.file("wallets"))
    }
}
