internal import EmbeddedServer
internal import HostSystem
internal import Secrets
@testable import Vault
internal import Vocabulary

/// A vault's key file.
///
/// A line whose last word is `@` gets the check value of its key.
final class KeyFileTarget: FuzzTarget {
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
        guard let vault = try? KeyFileVault(self.path) else { return }
        require(vault.versions.contains(vault.activeVersion), "the active key is not among the keys")
        _ = vault.receiptKeys(upTo: nil)
        _ = try? vault.reload()
    }

    private static func filled(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard line.last == UInt8(ascii: "@") else { return Array(line) }
        let words = line.split(separator: 0x20)
        guard words.count > 2, let name = words.first.map({ String(decoding: $0, as: UTF8.self) }),
            let root = [UInt8](hex: String(decoding: words[words.count - 2], as: UTF8.self))
        else { return Array(line) }
        let number = UInt32(String(decoding: words[1], as: UTF8.self)) ?? 1
        let check =
            switch name {
            case "key": KeyVersion(number: number, root: SecretBytes(copying: root))?.check
            case "history": HistoryKeys(number: number, root: SecretBytes(copying: root))?.check
            default: Optional(KeyRing.check(of: SecretBytes(copying: root)))
            }
        return line.dropLast() + Array((check ?? []).hex.utf8)
    }

    var words: [String] {
        ["remote-pin vault keys 2\n", "index ", "key 1 ", "history 1 ", "receipt-key ", "active 1\n", " @\n"]
    }

    var seeds: [[UInt8]] {
        let (one, two) = (String(repeating: "01", count: 32), String(repeating: "02", count: 32))
        return [
            "remote-pin vault keys 1\n# a comment\nindex \(one) @\nkey 1 \(two) @\nactive 1\n",
            "remote-pin vault keys 2\nindex \(one) @\nkey 1 \(two) @\nhistory 1 \(two) @\nactive 1\n",
            "remote-pin vault keys 2\nindex \(one) @\nkey 1 \(two) @\nkey 2 \(one) @\nhistory 2 \(two) @\nactive 2\n",
        ].map { Array($0.utf8) }
    }
}
