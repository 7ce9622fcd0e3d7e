internal import EmbeddedServer
internal import HostSystem
internal import Secrets
@testable import Vault
internal import Vocabulary

/// A vault's key file.
///
/// A line whose last word is `@` gets the check value of its key.
final class KeyFileTarget: FuzzTarget {
    private let queue = JobQueue()
    private let path: String

    init(folder: String) {
        self.path = "\(folder)/vault.key"
    }

    func run(_ input: [UInt8]) {
        let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false).map(Self.filled)
        do throws(FileError) {
            try DurableFile.write(Array(lines.joined(separator: [0x0A])), to: self.path)
        } catch {
            fatalError("\(self.path) cannot be written: \(error)")
        }
        let path = self.path
        self.queue.value {
            guard let vault = try? await KeyFileVault(path) else { return }
            require(vault.versions.contains(vault.activeVersion), "the active key is not among the keys")
            _ = vault.receiptKeys(upTo: nil)
            _ = try? await vault.reload()
        }
    }

    private static func filled(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard line.last == UInt8(ascii: "@") else { return Array(line) }
        let words = line.split(separator: 0x20)
        guard words.count > 2, let bytes = [UInt8](hex: String(decoding: words[words.count - 2], as: UTF8.self)),
            let root = KeyRoot(.index, SecretBytes(copying: bytes))
        else { return Array(line) }
        return line.dropLast() + Array(root.check.hex.utf8)
    }

    var words: [String] {
        [
            "remote-pin vault keys 3\n", "index ", "key 1 ", "history 1 ", "receipt-key ", "active 1\n", " @\n",
            "module 01020304\n",
        ]
    }

    var seeds: [[UInt8]] {
        let (one, two) = (String(repeating: "01", count: 32), String(repeating: "02", count: 32))
        return [
            "remote-pin vault keys 3\n# a comment\nindex \(one) @\nkey 1 \(two) @\nhistory 1 \(two) @\nactive 1\n",
            "remote-pin vault keys 3\nindex \(one) @\nkey 2 \(one) @\nhistory 2 \(two) @\nactive 2\n",
            "remote-pin vault keys 3\nindex module 01020304\nkey 1 \(two) @\nhistory 1 \(two) @\nactive 1\n",
        ].map { Array($0.utf8) }
    }
}
