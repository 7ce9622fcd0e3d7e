import Foundation
import Secrets
import Statements
import HostSystem
import TestSupport
import Testing
@testable import Vault
import Vocabulary

/// Seals a value with the newest of its wallet's keys.
private func seal(
    _ vault: KeyFileVault,
    _ bytes: [UInt8],
    _ field: VaultField = .unlockShare,
    _ wallet: WalletID
) async throws -> [UInt8] {
    guard field != .identity else {
        return try vault.sealIdentity(LayeredIdentity(decoy: bytes, version: vault.activeVersion), of: wallet)
    }
    return try await vault.keys(of: wallet, opening: []).seal(SecretBytes(copying: bytes), as: field)
}

/// The opened bytes, or nil if the vault rejects them.
private func opened(
    _ vault: KeyFileVault,
    _ sealed: [UInt8],
    _ field: VaultField = .unlockShare,
    _ wallet: WalletID
) async throws -> [UInt8]? {
    guard field != .identity else { return try? vault.openIdentity(sealed, of: wallet).facts }
    let keys = try await vault.keys(of: wallet, opening: [sealed])
    return try? keys.open(sealed, as: field).exposedBytes()
}

@Suite("The vault of a key file")
struct KeyFileVaultTests {
    let wallet = WalletID.random()

    @Test(
        "sealed values open, also with keys read again from the file, and never look the same twice",
        arguments: [0, 32, 500],
        RootPlace.allCases
    )
    func roundTrip(count: Int, _ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let secret = [UInt8](repeating: 7, count: count)
        for field in VaultField.allCases {
            let sealed = try await seal(vault, secret, field, self.wallet)
            let again = try await seal(vault, secret, field, self.wallet)
            #expect(sealed != again)
            let inner = field == .identity ? LayeredIdentity.pinKeyByteCount : 0
            #expect(sealed.count == inner + count + 4 + SecretBytes.sealOverhead && again.count == sealed.count)
            let fresh = try await fixture.again()
            #expect(try await opened(fresh, sealed, field, self.wallet) == secret)
        }
    }

    @Test(
        "a wallet's key is HKDF(root, \"remote-pin/1 vault wallet\" ‖ 0x00 ‖ wallet id)",
        arguments: RootPlace.allCases
    )
    func derivation(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let root = SecretBytes(copying: try #require(fixture.daemon.roots["key-1"]))
        let info = Array("remote-pin/1 vault wallet".utf8) + [0] + self.wallet.bytes
        let key = root.hkdfSHA256(info: info, count: 32)
        let sealed = try await seal(vault, [1, 2, 3], .deletionCode, self.wallet)
        let data = Array("deletion-code".utf8) + [0] + self.wallet.bytes
        #expect(sealed.prefix(4) == [0, 0, 0, 1])
        #expect(try key.open(Array(sealed.dropFirst(4)), associatedData: data).exposedBytes() == [1, 2, 3])
    }

    @Test(
        "the key of one wallet opens no value of another, even with the id of the other as associated data",
        arguments: RootPlace.allCases
    )
    func separateWallets(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let other = WalletID.random()
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        let keys = try await vault.keys(of: other, opening: [sealed])
        #expect(throws: VaultError.notOurs) { _ = try keys.open(sealed, as: .unlockShare) }
        let version = try #require(vault.keys.version(1))
        let data = VaultField.unlockShare.associatedData(of: self.wallet)
        let key = try await version.key(of: other)
        #expect(throws: VaultError.notOurs) { _ = try key.open(sealed, data) }
        let layers = LayeredIdentity(decoy: [1], version: 1)
        let identity = try vault.sealIdentity(layers, of: self.wallet)
        let named = VaultField.identity.associatedData(of: self.wallet)
        let opened = try version.identityKey(of: self.wallet).open(identity, named).exposedBytes()
        #expect(opened == layers.pinKey + [1])
        #expect(throws: VaultError.notOurs) { _ = try version.identityKey(of: other).open(identity, named) }
    }

    @Test("wiped keys neither open nor seal, and get no further versions", arguments: RootPlace.allCases)
    func wiped(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        let keys = try await vault.keys(of: self.wallet, opening: [sealed])
        #expect(try keys.open(sealed, as: .unlockShare).exposedBytes() == [1])
        keys.wipe()
        keys.add(try await vault.keys(of: self.wallet, opening: [sealed]))
        #expect(throws: VaultError.wiped) { _ = try keys.open(sealed, as: .unlockShare) }
        #expect(throws: VaultError.wiped) { try keys.seal(SecretBytes(copying: [1]), as: .unlockShare) }
        #expect(!keys.hasKey(of: sealed))
    }

    @Test("a value in the place of another wallet or field does not open", arguments: RootPlace.allCases)
    func displaced(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        for field in VaultField.allCases {
            let result = try await opened(vault, sealed, field, self.wallet)
            #expect((result != nil) == (field == .unlockShare))
        }
        #expect(try await opened(vault, sealed, .unlockShare, .random()) == nil)
    }

    @Test("every flipped bit and every cut is rejected, even in the key's id", arguments: RootPlace.allCases)
    func tampering(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let sealed = try await seal(vault, [1, 2, 3], .unlockShare, self.wallet)
        for bit in 0..<(sealed.count * 8) {
            var altered = sealed
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try await opened(vault, altered, .unlockShare, self.wallet) == nil)
        }
        for count in 0..<sealed.count {
            #expect(try await opened(vault, Array(sealed[..<count]), .unlockShare, self.wallet) == nil)
        }
    }

    @Test("another key file opens nothing and recognizes no MAC", arguments: RootPlace.allCases)
    func otherKeys(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let otherFile = try KeyFileFixture()
        let other = try await KeyFileVault(otherFile.path)
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        #expect(try await opened(other, sealed, .unlockShare, self.wallet) == nil)
        for use in MACUse.allCases {
            let mac = vault.mac([1], for: use)
            #expect(mac.count == ([.auditLog, .storeEpoch].contains(use) ? 36 : 32))
            #expect(vault.isMAC(mac, of: [1], for: use))
            #expect(!vault.isMAC(mac, of: [2], for: use))
            #expect(!other.isMAC(mac, of: [1], for: use))
        }
    }

    @Test("a MAC for one use is invalid for another", arguments: RootPlace.allCases)
    func uses(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let token = vault.mac([1], for: .enrollmentToken)
        let index = vault.mac([1], for: .recoveryCodeIndex)
        #expect(token != index)
        #expect(!vault.isMAC(token, of: [1], for: .recoveryCodeIndex))
        #expect(!vault.isMAC(index, of: [1], for: .enrollmentToken))
    }
}

@Suite("Rotation of a vault's keys")
struct KeyRotationTests {
    let wallet = WalletID.random()

    @Test(
        "after a rotation old values open, the new key seals new ones, and outdated values are recognized",
        arguments: RootPlace.allCases
    )
    func values(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let old = try await seal(vault, [1], .unlockShare, self.wallet)
        #expect(try await fixture.again().addVersion(activating: true) == 2)
        #expect(vault.activeVersion == 1)
        try await vault.reload()
        #expect(vault.activeVersion == 2)
        let new = try await seal(vault, [2], .unlockShare, self.wallet)
        #expect(try await opened(vault, old, .unlockShare, self.wallet) == [1])
        #expect(try await opened(vault, new, .unlockShare, self.wallet) == [2])
        #expect(vault.keyVersion(of: old) == 1 && vault.keyVersion(of: new) == 2)
    }

    @Test(
        "the keys of a wallet are those of the active version and of the values to open, and others can be added",
        arguments: RootPlace.allCases
    )
    func walletKeys(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let old = try await seal(vault, [1], .unlockShare, self.wallet)
        let before = try await vault.keys(of: self.wallet, opening: [old])
        _ = try await vault.addVersion(activating: true)
        let new = try await seal(vault, [2], .unlockShare, self.wallet)
        #expect(throws: VaultError.noKey) { _ = try before.open(new, as: .unlockShare) }
        #expect(vault.keyVersion(of: try before.seal(SecretBytes(copying: [1]), as: .unlockShare)) == 1)
        let active = try await vault.keys(of: self.wallet, opening: [])
        #expect(throws: VaultError.noKey) { _ = try active.open(old, as: .unlockShare) }
        before.add(active)
        #expect(try before.open(old, as: .unlockShare).exposedBytes() == [1])
        #expect(try before.open(new, as: .unlockShare).exposedBytes() == [2])
        #expect(vault.keyVersion(of: try before.seal(SecretBytes(copying: [1]), as: .unlockShare)) == 2)
        let missing = try await vault.keys(of: self.wallet, opening: [[0, 0, 0, 9] + new.dropFirst(4)])
        #expect(!missing.hasKey(of: [0, 0, 0, 9]) && missing.hasKey(of: new))
    }

    @Test("a token is accepted after one rotation and rejected after the second", arguments: RootPlace.allCases)
    func tokens(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let mac = vault.mac([1], for: .enrollmentToken)
        _ = try await fixture.again().addVersion(activating: true)
        try await vault.reload()
        #expect(vault.isMAC(mac, of: [1], for: .enrollmentToken))
        #expect(vault.mac([1], for: .enrollmentToken) != mac)
        _ = try await fixture.again().addVersion(activating: true)
        try await vault.reload()
        #expect(!vault.isMAC(mac, of: [1], for: .enrollmentToken))
    }

    @Test("a recovery code has the same MAC after every rotation", arguments: RootPlace.allCases)
    func index(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let mac = vault.mac([1], for: .recoveryCodeIndex)
        for _ in 0..<3 { _ = try await fixture.again().addVersion(activating: true) }
        try await vault.reload()
        #expect(vault.mac([1], for: .recoveryCodeIndex) == mac)
    }

    @Test(
        "after a rotation the history key makes new MACs; older ones still verify, and none may follow a newer one",
        arguments: RootPlace.allCases
    )
    func history(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        for use in [MACUse.auditLog, .storeEpoch] {
            let old = vault.mac([1], for: use)
            _ = try await fixture.again().addVersion(activating: true)
            try await vault.reload()
            let new = vault.mac([1], for: use)
            #expect(vault.isMAC(old, of: [1], for: use))
            #expect(vault.isMAC(new, of: [1], for: use))
            let (before, after) = (try #require(VersionedMAC(old)), try #require(VersionedMAC(new)))
            #expect(after.key == before.key + 1 && after.continues(before) && !before.continues(after))
            // Retired sealing versions leave the entries of their time verifiable.
            try await vault.remove(Set(vault.versions.dropLast()))
            #expect(vault.isMAC(old, of: [1], for: use))
            #expect(VersionedMAC(text: after.description.utf8) == after && VersionedMAC(new) == after)
        }
    }

    @Test("the file keeps the receipt keys of removed versions", arguments: RootPlace.allCases)
    func receiptKeys(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        #expect(try !file.text().contains("receipt-key"))
        _ = try await fixture.again().addVersion(activating: true)
        try await vault.reload()
        try await vault.remove([1])
        let again = try await fixture.again()
        #expect(again.receiptKeys(upTo: 2)?.map(\.key.id) == [1, 2])
        #expect(again.receiptKeys(upTo: 2) == vault.receiptKeys(upTo: 2))
    }

    @Test(
        "the store's version announces and signs, whether or not it seals at this server yet",
        arguments: RootPlace.allCases
    )
    func receiptVersion(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let vault = fixture.vault
        let root = SHA256Digest.of([1])
        func keys(_ version: UInt32?) -> [UInt32]? { vault.receiptKeys(upTo: version)?.map(\.key.id) }
        func signer(_ version: UInt32?) -> UInt32? {
            vault.sign(root: root, epoch: 1, at: Timestamp(milliseconds: 1), by: version)?.keyID
        }
        #expect(try await vault.addVersion(activating: false) == 2)
        #expect((keys(nil), keys(1), keys(2)) == ([1], [1], [1, 2]))
        #expect((signer(nil), signer(1), signer(2)) == (1, 1, 2))
        #expect(keys(3) == nil && signer(3) == nil)
        try await vault.activate(2)
        #expect((keys(nil), keys(1), keys(2)) == ([1, 2], [1], [1, 2]))
        #expect((signer(nil), signer(1)) == (2, 1))
    }

    @Test(
        "a token that another server made with a newer version is accepted before that version seals here",
        arguments: RootPlace.allCases
    )
    func newerToken(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        #expect(try await vault.addVersion(activating: false) == 2)
        let path = "\(file.path)-other"
        try DurableFile.write(Array(try file.text().utf8), to: path, mode: 0o600)
        let other = try await KeyFileVault(path, module: fixture.module)
        try await other.activate(2)
        let mac = other.mac([1], for: .enrollmentToken)
        #expect(vault.isMAC(mac, of: [1], for: .enrollmentToken))
        #expect(vault.activeVersion == 1)
    }

    @Test(
        "a key file without a version that waits to be activated does not replace one with it",
        arguments: RootPlace.allCases
    )
    func waitingVersion(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        let before = try file.text()
        _ = try await vault.addVersion(activating: false)
        try file.replace(before)
        await #expect(throws: KeyFileError.otherKeys(file.path)) { try await vault.reload() }
        #expect(vault.versions == [1, 2])
    }

    @Test("a key file with a rotation a day for a year can be read")
    func manyRotations() async throws {
        let fixture = try await VaultFixture(.file)
        for _ in 0..<365 { _ = try await fixture.vault.addVersion(activating: true) }
        #expect(try await fixture.again().activeVersion == 366)
    }

    @Test("concurrent rotations all take effect", arguments: RootPlace.allCases)
    func racing(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { _ = try? await fixture.again().addVersion(activating: true) }
            }
        }
        #expect(try await fixture.again().activeVersion == 9)
    }

    @Test("a running vault rejects another vault's file, and one from before a rotation", arguments: RootPlace.allCases)
    func otherKeys(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        let before = try DurableFile.read(file.path, atMost: 1 << 16)
        _ = try await fixture.again().addVersion(activating: true)
        try await vault.reload()
        try DurableFile.write(before, to: file.path)
        await #expect(throws: KeyFileError.otherKeys(file.path)) { try await vault.reload() }
        let other = try KeyFileFixture()
        for _ in 0..<2 {
            _ = try await KeyFileVault(other.path).addVersion(activating: true)
            try DurableFile.write(try DurableFile.read(other.path, atMost: 1 << 16), to: file.path)
            await #expect(throws: KeyFileError.otherKeys(file.path)) { try await vault.reload() }
        }
        #expect(vault.activeVersion == 2)
        #expect(try await opened(vault, sealed, .unlockShare, self.wallet) == [1])
    }

    @Test(
        "the rotation of an older copy in the file's place is rejected, and the copy is not changed",
        arguments: RootPlace.allCases
    )
    func olderCopy(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        let copy = try DurableFile.read(file.path, atMost: 1 << 16)
        #expect(try await vault.addVersion(activating: true) == 2)
        let check = vault.check(of: 2)
        try DurableFile.write(copy, to: file.path)
        await #expect(throws: KeyFileError.otherKeys(file.path)) { try await vault.addVersion(activating: true) }
        await #expect(throws: KeyFileError.otherKeys(file.path)) { try await vault.remove([1]) }
        #expect(try DurableFile.read(file.path, atMost: 1 << 16) == copy)
        #expect(vault.versions == [1, 2] && vault.check(of: 2) == check && vault.check(of: 3) == nil)
    }

    @Test("a running vault keeps its keys when the file becomes unusable", arguments: RootPlace.allCases)
    func failedReload(_ place: RootPlace) async throws {
        let fixture = try await VaultFixture(place)
        let (file, vault) = (fixture.file, fixture.vault)
        let sealed = try await seal(vault, [1], .unlockShare, self.wallet)
        try file.replace("nonsense")
        await #expect(throws: KeyFileError.damaged(file.path, line: 1)) { try await vault.reload() }
        #expect(try await opened(vault, sealed, .unlockShare, self.wallet) == [1])
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
        #expect(before.hasPrefix("remote-pin vault keys 3\n#"))
    }

    @Test(
        "a file that other users may read or write is rejected, with its path and mode",
        arguments: [0o644, 0o640, 0o660, 0o700]
    )
    func openMode(mode: UInt32) async throws {
        try self.file.replace(try self.file.text(), mode: mode)
        await #expect(throws: KeyFileError.mode(self.file.path, mode)) { try await KeyFileVault(self.file.path) }
        let text = "\(KeyFileError.mode(self.file.path, mode))"
        #expect(text.contains(self.file.path) && text.contains("0\(String(mode, radix: 8))"))
    }

    @Test("the error for a missing file names it")
    func missing() async throws {
        let path = self.file.path + "-2"
        await #expect(throws: KeyFileError.file(.notFound(path))) { try await KeyFileVault(path) }
    }

    @Test("a file of another format is rejected as such", arguments: [2, 4])
    func otherFormat(number: Int) async throws {
        let text = try self.file.text().replacingOccurrences(of: "keys 3\n", with: "keys \(number)\n")
        try self.file.replace(text)
        await #expect(throws: KeyFileError.otherFormat(self.file.path)) { try await KeyFileVault(self.file.path) }
    }

    @Test("no damaged, missing or repeated line is read as intact")
    func damaged() async throws {
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
                await #expect(throws: KeyFileError.self, "\(number)") { try await KeyFileVault(self.file.path) }
            }
        }
        for digit in whole.indices where whole[digit].isHexDigit {
            guard let key = whole[..<digit].lastIndex(of: "\n"), !whole[key...].hasPrefix("\n#") else { continue }
            var altered = whole
            altered.replaceSubrange(digit...digit, with: whole[digit] == "0" ? "1" : "0")
            try self.file.replace(altered)
            await #expect(throws: KeyFileError.self) { try await KeyFileVault(self.file.path) }
        }
    }

    @Test("no error shows a key")
    func errorsWithoutKeys() async throws {
        let text = try self.file.text()
        let key = try #require(text.split(separator: "\n").first { $0.hasPrefix("key ") }?.split(separator: " ")[2])
        try self.file.replace(text.replacingOccurrences(of: " \(key) ", with: " \(key)0 "))
        do throws(KeyFileError) {
            _ = try await KeyFileVault(self.file.path)
            Issue.record("a damaged file was read")
        } catch {
            #expect(!"\(error) \(String(reflecting: error))".contains(key))
        }
    }
}
