import Foundation
import Secrets
import Statements
import HostSystem
import Testing
@testable import Vault
import Vocabulary

/// A key file in a separate folder, removed with the value.
final class KeyFileFixture {
    let folder: String
    let path: String

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "vault-tests-\(UUID().uuidString)").path()
        self.path = "\(self.folder)/vault-key"
        try DurableFile.makeFolder(self.folder)
        try KeyFileVault.create(at: self.path)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func text() throws -> String {
        String(decoding: try DurableFile.read(self.path, atMost: 65_536), as: UTF8.self)
    }

    func replace(_ text: String, mode: UInt32 = 0o600) throws {
        try DurableFile.write(Array(text.utf8), to: self.path, mode: mode)
    }
}

/// Seals a value with the newest of its wallet's keys.
private func seal(
    _ vault: KeyFileVault,
    _ bytes: [UInt8],
    _ field: VaultField = .unlockShare,
    _ wallet: WalletID
) async throws -> [UInt8] {
    guard field != .identity else { return vault.sealIdentity(SecretBytes(copying: bytes), of: wallet) }
    return try await vault.keys(of: wallet, opening: []).seal(SecretBytes(copying: bytes), as: field)
}

/// The opened bytes, or nil if the vault rejects them.
private func opened(
    _ vault: KeyFileVault,
    _ sealed: [UInt8],
    _ field: VaultField = .unlockShare,
    _ wallet: WalletID
) async throws -> [UInt8]? {
    let keys = try await vault.keys(of: wallet, opening: [sealed])
    return try? vault.open(sealed, as: field, with: keys).exposedBytes()
}

@Suite("The vault of a key file")
struct KeyFileVaultTests {
    let file: KeyFileFixture
    let vault: KeyFileVault
    let wallet = WalletID.random()

    init() throws {
        self.file = try KeyFileFixture()
        self.vault = try KeyFileVault(self.file.path)
    }

    @Test(
        "sealed values open, also with keys read again from the file, and never look the same twice",
        arguments: [0, 32, 500],
        VaultField.allCases
    )
    func roundTrip(count: Int, field: VaultField) async throws {
        let secret = [UInt8](repeating: 7, count: count)
        let sealed = try await seal(self.vault, secret, field, self.wallet)
        let again = try await seal(self.vault, secret, field, self.wallet)
        #expect(sealed != again)
        #expect(sealed.count == count + 4 + SecretBytes.sealOverhead && again.count == sealed.count)
        let fresh = try KeyFileVault(self.file.path)
        #expect(try await opened(fresh, sealed, field, self.wallet) == secret)
    }

    @Test("a wallet's key is HKDF(root, \"remote-pin/1 vault wallet\" ‖ 0x00 ‖ wallet id)")
    func derivation() async throws {
        let line = try #require(try self.file.text().split(separator: "\n").first { $0.hasPrefix("key 1 ") })
        let root = SecretBytes(copying: try #require([UInt8](hex: String(line.split(separator: " ")[2]))))
        let info = Array("remote-pin/1 vault wallet".utf8) + [0] + self.wallet.bytes
        let key = root.hkdfSHA256(info: info, count: 32)
        let sealed = try await seal(self.vault, [1, 2, 3], .deletionCode, self.wallet)
        let data = Array("deletion-code".utf8) + [0] + self.wallet.bytes
        #expect(sealed.prefix(4) == [0, 0, 0, 1])
        #expect(try key.open(Array(sealed.dropFirst(4)), associatedData: data).exposedBytes() == [1, 2, 3])
    }

    @Test("the key of one wallet opens no value of another, even with the id of the other as associated data")
    func separateWallets() async throws {
        let other = WalletID.random()
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        let keys = try await self.vault.keys(of: other, opening: [sealed])
        #expect(throws: VaultError.notOurs) { _ = try keys.open(sealed, as: .unlockShare) }
        let version = try #require(self.vault.keys.version(1))
        let data = VaultField.unlockShare.associatedData(of: self.wallet)
        #expect(throws: VaultError.notOurs) { _ = try version.key(of: other).open(sealed, data) }
        let identity = self.vault.sealIdentity(SecretBytes(copying: [1]), of: self.wallet)
        let named = VaultField.identity.associatedData(of: self.wallet)
        #expect(try version.identityKey(of: self.wallet).open(identity, named).exposedBytes() == [1])
        #expect(throws: VaultError.notOurs) { _ = try version.identityKey(of: other).open(identity, named) }
    }

    @Test("wiped keys neither open nor seal, and get no further versions")
    func wiped() async throws {
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        let keys = try await self.vault.keys(of: self.wallet, opening: [sealed])
        #expect(try keys.open(sealed, as: .unlockShare).exposedBytes() == [1])
        keys.wipe()
        keys.add(try await self.vault.keys(of: self.wallet, opening: [sealed]))
        #expect(throws: VaultError.noKey) { _ = try keys.open(sealed, as: .unlockShare) }
        #expect(throws: VaultError.noKey) { try keys.seal(SecretBytes(copying: [1]), as: .unlockShare) }
        #expect(!keys.hasKey(of: sealed))
    }

    @Test("a value in the place of another wallet or field does not open")
    func displaced() async throws {
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        for field in VaultField.allCases {
            let result = try await opened(self.vault, sealed, field, self.wallet)
            #expect((result != nil) == (field == .unlockShare))
        }
        #expect(try await opened(self.vault, sealed, .unlockShare, .random()) == nil)
    }

    @Test("every flipped bit and every cut is rejected, even in the key's id")
    func tampering() async throws {
        let sealed = try await seal(self.vault, [1, 2, 3], .unlockShare, self.wallet)
        for bit in 0..<(sealed.count * 8) {
            var altered = sealed
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try await opened(self.vault, altered, .unlockShare, self.wallet) == nil)
        }
        for count in 0..<sealed.count {
            #expect(try await opened(self.vault, Array(sealed[..<count]), .unlockShare, self.wallet) == nil)
        }
    }

    @Test("another key file opens nothing and recognizes no MAC")
    func otherKeys() async throws {
        let otherFile = try KeyFileFixture()
        let other = try KeyFileVault(otherFile.path)
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        #expect(try await opened(other, sealed, .unlockShare, self.wallet) == nil)
        for use in MACUse.allCases {
            let mac = self.vault.mac([1], for: use)
            #expect(mac.count == ([.auditLog, .storeEpoch].contains(use) ? 36 : 32))
            #expect(self.vault.isMAC(mac, of: [1], for: use))
            #expect(!self.vault.isMAC(mac, of: [2], for: use))
            #expect(!other.isMAC(mac, of: [1], for: use))
        }
    }

    @Test("a MAC for one use is invalid for another")
    func uses() async throws {
        let token = self.vault.mac([1], for: .enrollmentToken)
        let index = self.vault.mac([1], for: .recoveryCodeIndex)
        #expect(token != index)
        #expect(!self.vault.isMAC(token, of: [1], for: .recoveryCodeIndex))
        #expect(!self.vault.isMAC(index, of: [1], for: .enrollmentToken))
    }
}

@Suite("Rotation of a vault's keys")
struct KeyRotationTests {
    let file: KeyFileFixture
    let vault: KeyFileVault
    let wallet = WalletID.random()

    init() throws {
        self.file = try KeyFileFixture()
        self.vault = try KeyFileVault(self.file.path)
    }

    @Test("after a rotation old values open, the new key seals new ones, and outdated values are recognized")
    func values() async throws {
        let old = try await seal(self.vault, [1], .unlockShare, self.wallet)
        #expect(try KeyFileVault(self.file.path).addVersion(activating: true) == 2)
        #expect(self.vault.activeVersion == 1)
        try self.vault.reload()
        #expect(self.vault.activeVersion == 2)
        let new = try await seal(self.vault, [2], .unlockShare, self.wallet)
        #expect(try await opened(self.vault, old, .unlockShare, self.wallet) == [1])
        #expect(try await opened(self.vault, new, .unlockShare, self.wallet) == [2])
        #expect(self.vault.keyVersion(of: old) == 1 && self.vault.keyVersion(of: new) == 2)
    }

    @Test("the keys of a wallet are those of the active version and of the values to open, and others can be added")
    func walletKeys() async throws {
        let old = try await seal(self.vault, [1], .unlockShare, self.wallet)
        let before = try await self.vault.keys(of: self.wallet, opening: [old])
        _ = try self.vault.addVersion(activating: true)
        let new = try await seal(self.vault, [2], .unlockShare, self.wallet)
        #expect(throws: VaultError.noKey) { _ = try before.open(new, as: .unlockShare) }
        #expect(self.vault.keyVersion(of: try before.seal(SecretBytes(copying: [1]), as: .unlockShare)) == 1)
        let active = try await self.vault.keys(of: self.wallet, opening: [])
        #expect(throws: VaultError.noKey) { _ = try active.open(old, as: .unlockShare) }
        before.add(active)
        #expect(try before.open(old, as: .unlockShare).exposedBytes() == [1])
        #expect(try before.open(new, as: .unlockShare).exposedBytes() == [2])
        #expect(self.vault.keyVersion(of: try before.seal(SecretBytes(copying: [1]), as: .unlockShare)) == 2)
        let missing = try await self.vault.keys(of: self.wallet, opening: [[0, 0, 0, 9] + new.dropFirst(4)])
        #expect(!missing.hasKey(of: [0, 0, 0, 9]) && missing.hasKey(of: new))
    }

    @Test("a token is accepted after one rotation and rejected after the second")
    func tokens() async throws {
        let mac = self.vault.mac([1], for: .enrollmentToken)
        _ = try KeyFileVault(self.file.path).addVersion(activating: true)
        try self.vault.reload()
        #expect(self.vault.isMAC(mac, of: [1], for: .enrollmentToken))
        #expect(self.vault.mac([1], for: .enrollmentToken) != mac)
        _ = try KeyFileVault(self.file.path).addVersion(activating: true)
        try self.vault.reload()
        #expect(!self.vault.isMAC(mac, of: [1], for: .enrollmentToken))
    }

    @Test("a recovery code has the same MAC after every rotation")
    func index() async throws {
        let mac = self.vault.mac([1], for: .recoveryCodeIndex)
        for _ in 0..<3 { _ = try KeyFileVault(self.file.path).addVersion(activating: true) }
        try self.vault.reload()
        #expect(self.vault.mac([1], for: .recoveryCodeIndex) == mac)
    }

    @Test("after a rotation the history key makes new MACs; older ones still verify, and none may follow a newer one")
    func history() async throws {
        for use in [MACUse.auditLog, .storeEpoch] {
            let old = self.vault.mac([1], for: use)
            _ = try KeyFileVault(self.file.path).addVersion(activating: true)
            try self.vault.reload()
            let new = self.vault.mac([1], for: use)
            #expect(self.vault.isMAC(old, of: [1], for: use))
            #expect(self.vault.isMAC(new, of: [1], for: use))
            let (before, after) = (try #require(VersionedMAC(old)), try #require(VersionedMAC(new)))
            #expect(after.key == before.key + 1 && after.continues(before) && !before.continues(after))
            // Retired sealing versions leave the entries of their time verifiable.
            try self.vault.remove(Set(self.vault.versions.dropLast()))
            #expect(self.vault.isMAC(old, of: [1], for: use))
            #expect(VersionedMAC(text: after.description.utf8) == after && VersionedMAC(new) == after)
        }
    }

    @Test("the file keeps the receipt keys of removed versions")
    func receiptKeys() throws {
        #expect(try !self.file.text().contains("receipt-key"))
        _ = try KeyFileVault(self.file.path).addVersion(activating: true)
        try self.vault.reload()
        try self.vault.remove([1])
        let again = try KeyFileVault(self.file.path)
        #expect(again.receiptKeys(upTo: 2)?.map(\.key.id) == [1, 2])
        #expect(again.receiptKeys(upTo: 2) == self.vault.receiptKeys(upTo: 2))
    }

    @Test("the store's version announces and signs, whether or not it seals at this server yet")
    func receiptVersion() async throws {
        let root = SHA256Digest.of([1])
        func keys(_ version: UInt32?) -> [UInt32]? { self.vault.receiptKeys(upTo: version)?.map(\.key.id) }
        func signer(_ version: UInt32?) -> UInt32? {
            self.vault.sign(root: root, epoch: 1, at: Timestamp(milliseconds: 1), by: version)?.keyID
        }
        #expect(try self.vault.addVersion(activating: false) == 2)
        #expect((keys(nil), keys(1), keys(2)) == ([1], [1], [1, 2]))
        #expect((signer(nil), signer(1), signer(2)) == (1, 1, 2))
        #expect(keys(3) == nil && signer(3) == nil)
        try self.vault.activate(2)
        #expect((keys(nil), keys(1), keys(2)) == ([1, 2], [1], [1, 2]))
        #expect((signer(nil), signer(1)) == (2, 1))
    }

    @Test("a token that another server made with a newer version is accepted before that version seals here")
    func newerToken() async throws {
        #expect(try self.vault.addVersion(activating: false) == 2)
        let path = "\(self.file.path)-other"
        try DurableFile.write(Array(try self.file.text().utf8), to: path, mode: 0o600)
        let other = try KeyFileVault(path)
        try other.activate(2)
        let mac = other.mac([1], for: .enrollmentToken)
        #expect(self.vault.isMAC(mac, of: [1], for: .enrollmentToken))
        #expect(self.vault.activeVersion == 1)
    }

    @Test("a key file without a version that waits to be activated does not replace one with it")
    func waitingVersion() throws {
        let before = try self.file.text()
        _ = try self.vault.addVersion(activating: false)
        try self.file.replace(before)
        #expect(throws: KeyFileError.otherKeys(self.file.path)) { try self.vault.reload() }
        #expect(self.vault.versions == [1, 2])
    }

    @Test("a key file of format 1 keeps working: its MACs come from the index key until the next rotation")
    func formatOne() async throws {
        let lines = try self.file.text().replacing("keys 2\n", with: "keys 1\n").split(separator: "\n")
        try self.file.replace(lines.filter { !$0.hasPrefix("history") }.joined(separator: "\n") + "\n")
        let vault = try KeyFileVault(self.file.path)
        let old = vault.mac([1], for: .auditLog)
        #expect(old.count == 32)
        #expect(try vault.addVersion(activating: true) == 2)
        let new = vault.mac([1], for: .auditLog)
        #expect(new.count == 36 && VersionedMAC(new)?.key == 2)
        #expect(vault.isMAC(old, of: [1], for: .auditLog))
        #expect(try self.file.text().hasPrefix("remote-pin vault keys 2\n"))
        let index = vault.mac([1], for: .recoveryCodeIndex)
        #expect(self.vault.mac([1], for: .recoveryCodeIndex) == index)
    }

    @Test("a key file with a rotation a day for a year can be read")
    func manyRotations() throws {
        for _ in 0..<365 { _ = try self.vault.addVersion(activating: true) }
        #expect(try KeyFileVault(self.file.path).activeVersion == 366)
    }

    @Test("concurrent rotations all take effect")
    func racing() throws {
        let path = self.file.path
        DispatchQueue.concurrentPerform(iterations: 8) { _ in _ = try? KeyFileVault(path).addVersion(activating: true) }
        #expect(try KeyFileVault(path).activeVersion == 9)
    }

    @Test("a running vault rejects another vault's file, and one from before a rotation")
    func otherKeys() async throws {
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        let before = try DurableFile.read(self.file.path, atMost: 1 << 16)
        _ = try KeyFileVault(self.file.path).addVersion(activating: true)
        try self.vault.reload()
        try DurableFile.write(before, to: self.file.path)
        #expect(throws: KeyFileError.otherKeys(self.file.path)) { try self.vault.reload() }
        let other = try KeyFileFixture()
        for _ in 0..<2 {
            _ = try KeyFileVault(other.path).addVersion(activating: true)
            try DurableFile.write(try DurableFile.read(other.path, atMost: 1 << 16), to: self.file.path)
            #expect(throws: KeyFileError.otherKeys(self.file.path)) { try self.vault.reload() }
        }
        #expect(self.vault.activeVersion == 2)
        #expect(try await opened(self.vault, sealed, .unlockShare, self.wallet) == [1])
    }

    @Test("the rotation of an older copy in the file's place is rejected, and the copy is not changed")
    func olderCopy() throws {
        let vault = try KeyFileVault(self.file.path)
        let copy = try DurableFile.read(self.file.path, atMost: 1 << 16)
        #expect(try vault.addVersion(activating: true) == 2)
        let check = vault.check(of: 2)
        try DurableFile.write(copy, to: self.file.path)
        #expect(throws: KeyFileError.otherKeys(self.file.path)) { try vault.addVersion(activating: true) }
        #expect(throws: KeyFileError.otherKeys(self.file.path)) { try vault.remove([1]) }
        #expect(try DurableFile.read(self.file.path, atMost: 1 << 16) == copy)
        #expect(vault.versions == [1, 2] && vault.check(of: 2) == check && vault.check(of: 3) == nil)
    }

    @Test("a running vault keeps its keys when the file becomes unusable")
    func failedReload() async throws {
        let sealed = try await seal(self.vault, [1], .unlockShare, self.wallet)
        try self.file.replace("nonsense")
        #expect(throws: KeyFileError.damaged(self.file.path, line: 1)) { try self.vault.reload() }
        #expect(try await opened(self.vault, sealed, .unlockShare, self.wallet) == [1])
    }
}

@Suite("Key files")
struct KeyFileTests {
    let file: KeyFileFixture

    init() throws { self.file = try KeyFileFixture() }

    @Test("a key file is created with mode 0600 and never replaces an existing file")
    func creation() throws {
        #expect(try DurableFile.mode(of: self.file.path) == 0o600)
        let before = try self.file.text()
        #expect(throws: KeyFileError.file(.exists(self.file.path))) { try KeyFileVault.create(at: self.file.path) }
        #expect(try self.file.text() == before)
        #expect(before.hasPrefix("remote-pin vault keys 2\n#"))
    }

    @Test(
        "a file that other users may read or write is rejected, with its path and mode",
        arguments: [0o644, 0o640, 0o660, 0o700]
    )
    func openMode(mode: UInt32) throws {
        try self.file.replace(try self.file.text(), mode: mode)
        #expect(throws: KeyFileError.mode(self.file.path, mode)) { try KeyFileVault(self.file.path) }
        let text = "\(KeyFileError.mode(self.file.path, mode))"
        #expect(text.contains(self.file.path) && text.contains("0\(String(mode, radix: 8))"))
    }

    @Test("the error for a missing file names it")
    func missing() throws {
        let path = self.file.path + "-2"
        #expect(throws: KeyFileError.file(.notFound(path))) { try KeyFileVault(path) }
    }

    @Test("a file of a newer format is rejected as such")
    func newer() throws {
        let text = try self.file.text().replacingOccurrences(of: "keys 2\n", with: "keys 3\n")
        try self.file.replace(text)
        #expect(throws: KeyFileError.newerFormat(self.file.path)) { try KeyFileVault(self.file.path) }
    }

    @Test("no damaged, missing or repeated line is read as intact")
    func damaged() throws {
        let whole = try self.file.text()
        let lines = whole.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (number, line) in lines.enumerated() where !line.hasPrefix("#") && !line.isEmpty {
            var without = lines
            without.remove(at: number)
            var doubled = lines
            doubled.insert(line, at: number)
            var cut = lines
            cut[number].removeLast()
            for damaged in [without, doubled, cut] {
                try self.file.replace(damaged.joined(separator: "\n"))
                #expect(throws: KeyFileError.self, "\(number)") { try KeyFileVault(self.file.path) }
            }
        }
        for digit in whole.indices where whole[digit].isHexDigit {
            guard let key = whole[..<digit].lastIndex(of: "\n"), !whole[key...].hasPrefix("\n#") else { continue }
            var altered = whole
            altered.replaceSubrange(digit...digit, with: whole[digit] == "0" ? "1" : "0")
            try self.file.replace(altered)
            #expect(throws: KeyFileError.self) { try KeyFileVault(self.file.path) }
        }
    }

    @Test("no error shows a key")
    func errorsWithoutKeys() throws {
        let text = try self.file.text()
        let key = try #require(text.split(separator: "\n").first { $0.hasPrefix("key ") }?.split(separator: " ")[2])
        try self.file.replace(text.replacingOccurrences(of: " \(key) ", with: " \(key)0 "))
        do throws(KeyFileError) {
            _ = try KeyFileVault(self.file.path)
            Issue.record("a damaged file was read")
        } catch {
            #expect(!"\(error) \(String(reflecting: error))".contains(key))
        }
    }
}
