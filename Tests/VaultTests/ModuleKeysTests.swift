import Secrets
import Statements
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Vault

@Suite("Roots in a module")
struct ModuleRootTests {
    private let wallet = WalletID.random()

    @Test("a root gives the same bytes in the file and in the module, for one block and for several")
    func sameBytes() async throws {
        let fixture = try await VaultFixture(.module)
        let name = RootName(kind: .key, number: 1)
        let secret = try #require(fixture.daemon.roots["key-1"])
        let inFile = try KeyRoot(name, SecretBytes(copying: secret)).orThrow()
        let inModule = try #require(try await KeyRoot.find(name, in: fixture.module.orThrow()))
        #expect(inFile.check == inModule.check && inModule.isInModule && !inFile.isInModule)
        for (info, count) in [
            ("a", 4), ("remote-pin/1 vault wallet", 32), ("remote-pin/1 vault receipt key", 48), ("b", 100),
        ] {
            let bytes = try await inModule.derive(info: Array(info.utf8), count: count).exposedBytes()
            #expect(try await inFile.derive(info: Array(info.utf8), count: count).exposedBytes() == bytes)
            #expect(
                SecretBytes(copying: secret).hkdfSHA256(info: Array(info.utf8), count: count).exposedBytes() == bytes
            )
        }
    }

    @Test("a vault opens, verifies and signs the same after its roots moved to the module")
    func moved() async throws {
        let fixture = try await VaultFixture(.file)
        let before = fixture.vault
        let keys = try await before.keys(of: self.wallet, opening: [])
        let share = try keys.seal(SecretBytes(copying: [1]), as: .unlockShare)
        let layers = LayeredIdentity(decoy: [2], version: 1)
        let identity = try before.sealIdentity(layers, of: self.wallet)
        let daemon = try FakeModule(at: "\(fixture.file.folder)/other", rootsOf: fixture.file.path)
        try await daemon.start()
        let after = try await KeyFileVault(fixture.file.path, module: ModuleKeys(socket: daemon.path))
        let moved = try await after.keys(of: self.wallet, opening: [share])
        #expect(try moved.open(share, as: .unlockShare).exposedBytes() == [1])
        #expect(try after.openIdentity(identity, of: self.wallet) == layers)
        for use in MACUse.allCases { #expect(after.mac([3], for: use) == before.mac([3], for: use)) }
        #expect(after.receiptKeys(upTo: 1) == before.receiptKeys(upTo: 1) && after.check(of: 1) == before.check(of: 1))
        #expect(before.isInModule(1) == false && after.isInModule(1) == true && after.isInModule(2) == nil)
    }

    @Test("the keys of a wallet cost one code, and two while its values have an older version; nothing else costs any")
    func calls() async throws {
        let fixture = try await VaultFixture(.module)
        let old = try await fixture.vault.keys(of: self.wallet, opening: []).seal(.random(count: 32), as: .unlockShare)
        #expect(try await fixture.vault.addVersion(activating: true) == 2)
        func labels(_ body: () async throws -> Void) async throws -> [String] {
            let before = fixture.daemon.requestedLabels.count
            try await body()
            return Array(fixture.daemon.requestedLabels.dropFirst(before))
        }
        let (vault, wallet) = (fixture.vault, self.wallet)
        // The open connection is checked for the new version first.
        _ = try await vault.keys(of: wallet, opening: [])
        #expect(try await labels { _ = try await vault.keys(of: wallet, opening: []) } == ["key-2"])
        #expect(try await labels { _ = try await vault.keys(of: wallet, opening: [old, old]) } == ["key-1", "key-2"])
        let others = try await labels {
            let identity = try vault.sealIdentity(LayeredIdentity(decoy: [1], version: 2), of: wallet)
            _ = try vault.openIdentity(identity, of: wallet)
            for use in MACUse.allCases { #expect(vault.isMAC(vault.mac([1], for: use), of: [1], for: use)) }
            _ = vault.sign(root: .of([1]), epoch: 1, at: Timestamp(milliseconds: 1), by: nil)
        }
        #expect(others.isEmpty)
    }

    @Test("a new version is in the module if that has both of its keys, and in the file only before the move")
    func addedVersions() async throws {
        let fixture = try await VaultFixture(.file)
        let module = ModuleKeys(socket: fixture.daemon.path)
        let vault = try await KeyFileVault(fixture.file.path, module: module)
        for name in ["key-2", "history-2", "key-4", "history-4"] { fixture.daemon.fail(.text("unknown\n"), for: name) }
        #expect(try await vault.addVersion(activating: true) == 2)
        #expect(vault.isInModule(2) == false)
        #expect(try await vault.addVersion(activating: true) == 3)
        #expect(vault.isInModule(3) == true)
        let moved = try fixture.file.text()
        #expect(moved.contains("\nkey 3 module "))
        let error = KeyFileError.nextNotInModule(fixture.file.path, "key-4", "history-4")
        await #expect(throws: error) { try await vault.addVersion(activating: true) }
        #expect(try fixture.file.text() == moved)
        #expect(["make key-4", "make history-4"].allSatisfy("\(error)".contains))
        let again = try await KeyFileVault(fixture.file.path, module: module)
        #expect(again.versions == [1, 2, 3] && again.activeVersion == 3)
        #expect((1...3).map { again.name(of: $0) } == (1...3).map { vault.name(of: $0) })
        fixture.daemon.recover()
        #expect(try await vault.addVersion(activating: true) == 4)
        #expect(vault.isInModule(4) == true)
    }

    @Test("a new version of which the module has only one key is not added", arguments: ["key-2", "history-2"])
    func halfVersion(_ missing: String) async throws {
        let fixture = try await VaultFixture(.module)
        let before = try fixture.file.text()
        fixture.daemon.fail(.text("unknown\n"), for: missing)
        let other = missing == "key-2" ? "history-2" : "key-2"
        await #expect(throws: KeyFileError.halfInModule(fixture.file.path, has: other, lacks: missing)) {
            try await fixture.vault.addVersion(activating: true)
        }
        #expect(try fixture.file.text() == before && fixture.vault.versions == [1])
    }

    @Test("while the module is away, no version is added, the keys in use stay, and the file is not changed")
    func away() async throws {
        let fixture = try await VaultFixture(.module)
        let (before, mac) = (try fixture.file.text(), fixture.vault.mac([1], for: .auditLog))
        try await fixture.daemon.stop()
        for change in [fixture.vault.reload, { _ = try await fixture.vault.addVersion(activating: true) }] {
            do {
                try await change()
                Issue.record("not unreachable")
            } catch KeyFileError.unreachable(let path, let socket, _) {
                #expect(path == fixture.file.path && socket == fixture.daemon.path)
            }
        }
        await #expect(throws: VaultError.unreachable) { try await fixture.vault.keys(of: self.wallet, opening: []) }
        #expect(try fixture.file.text() == before && fixture.vault.mac([1], for: .auditLog) == mac)
    }

    @Test("a root in a module needs the setting, and the module needs the root that the file names")
    func start() async throws {
        let fixture = try await VaultFixture(.module)
        let path = fixture.file.path
        await #expect(throws: KeyFileError.noModule(path, "index")) { try await KeyFileVault(path) }
        #expect("\(KeyFileError.noModule(path, "index"))".contains("`vault.socket`"))
        let check = try #require(fixture.vault.check(of: 1)).hex
        let error = KeyFileError.notInModule(path, "key-1", check: check)
        fixture.daemon.fail(.text("unknown\n"), for: "key-1")
        await #expect(throws: error) { try await fixture.again() }
        #expect(["key-1", check, path].allSatisfy("\(error)".contains))
        fixture.daemon.recover()
        // Another token, with another key 1.
        try await fixture.daemon.stop()
        var roots = fixture.daemon.roots
        roots["key-1"] = roots["key-2"]
        let other = FakeModule(at: fixture.daemon.path, roots: roots)
        try await other.start()
        let module = ModuleKeys(socket: other.path)
        await #expect(throws: error) { try await KeyFileVault(path, module: module) }
    }
}

@Suite("The client of a module's daemon")
struct ModuleKeysTests {
    private static let name = RootName(kind: .key, number: 1)
    private static let limit = Duration.seconds(2)

    /// A client that requires no keys, and the codes that it should get.
    private final class Client: Sendable {
        let folder = TemporaryFolder()
        let daemon: FakeModule
        let module: ModuleKeys
        private let key = HMACKey(extractedFrom: SecretBytes(copying: [UInt8](repeating: 1, count: 32)))

        init(connections: Int = 1, timeLimit: Duration = ModuleKeysTests.limit) async throws {
            self.daemon = FakeModule(
                at: self.folder.file("socket"),
                roots: ["key-1": [UInt8](repeating: 1, count: 32), "key-2": [UInt8](repeating: 2, count: 32)]
            )
            try await self.daemon.start()
            self.module = ModuleKeys(socket: self.daemon.path, connections: connections, timeLimit: timeLimit)
        }

        /// Whether the module gives the right code of a message.
        func isRight(_ message: UInt8) async -> Bool {
            let code = try? await self.module.code(of: [message], under: ModuleKeysTests.name)
            if let code, code.bytes.exposedBytes() != self.key.code(of: [message]) {
                Issue.record("the code of another message")
            }
            return code != nil
        }
    }

    @Test("the answer to a request that timed out is never taken as the answer to another one")
    func lateLine() async throws {
        let client = try await Client()
        client.daemon.fail(.held, times: 1)
        #expect(await !client.isRight(1))
        client.daemon.fail(.held, times: 1)
        async let second = client.isRight(2)
        try await poll { client.daemon.requestedLabels.count == 2 }
        // The first request's answer arrives while the second one waits.
        client.daemon.release()
        #expect(await second)
        for message in UInt8(3)..<10 { #expect(await client.isRight(message)) }
    }

    @Test(
        "a connection that breaks the protocol ends the request and is replaced",
        arguments: [
            .closeBeforeAnswer, .closeWithinAnswer, .text("ok \(String(repeating: "0", count: 63))\n"),
            .text("ok \(String(repeating: "0", count: 65))\n"), .text("ok \(String(repeating: "0", count: 4_097))\n"),
            .text("ok \(String(repeating: "z", count: 64))\n"), .text("ok\n"), .text("\n"), .text("busy soon\n"),
            .text("ok \(String(repeating: "0", count: 64))\nok \(String(repeating: "0", count: 64))\n"),
            .text("failed module\n"), .held,
        ] as [FakeModule.Fault]
    )
    func faults(_ fault: FakeModule.Fault) async throws {
        let client = try await Client()
        for message in UInt8(0)..<5 {
            client.daemon.fail(fault, times: 1)
            #expect(await !client.isRight(message))
            #expect(await client.isRight(message))
        }
        client.daemon.fail(.closeAfterAnswer, times: 1)
        #expect(await client.isRight(7))
        // The client may send one request before it notices the end of the connection.
        try await poll { await client.isRight(8) }
        #expect(client.module.problem == nil)
    }

    @Test("a missing key is named as such, and the others stay")
    func unknown() async throws {
        let client = try await Client()
        await #expect(throws: ModuleFailure.unknown) { try await client.module.code(of: [1], under: .index) }
        #expect(await client.isRight(1))
    }

    @Test("a busy daemon is asked again after the time that it names, until the request's time limit")
    func busy() async throws {
        let client = try await Client(timeLimit: .seconds(20))
        client.daemon.fail(.text("busy 20\n"), times: 1)
        #expect(await client.isRight(1))
        client.daemon.fail(.text("busy 0\n"), times: 5)
        #expect(await client.isRight(2))
        #expect(client.daemon.requestedLabels.count == 2 + 6)
        client.daemon.fail(.text("busy 30000\n"), times: 1)
        #expect(await !client.isRight(3), "the caller's time does not suffice")
        for message in UInt8(0)..<5 { #expect(await client.isRight(message)) }
        #expect(client.module.problem == nil, "a limit is not a failure")
    }

    @Test("a daemon that is busy while new connections are checked stays in use, and their requests are answered")
    func busyChecks() async throws {
        let fixture = try await VaultFixture(.module)
        let (vault, daemon) = (fixture.vault, fixture.daemon)
        @Sendable func derive() async -> Bool { (try? await vault.keys(of: .random(), opening: [])) != nil }
        #expect(await derive())
        let before = daemon.requestedLabels.count
        daemon.fail(.held, times: 1)
        daemon.fail(.text("busy 20\n"), times: 6)
        async let first = derive()
        try await poll { daemon.requestedLabels.count == before + 1 }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 { group.addTask { await derive() } }
            for await isRight in group { #expect(isRight) }
        }
        #expect(vault.problem == nil)
        daemon.release()
        #expect(await first)
    }

    @Test("required keys are checked behind open connections, too, and a passed check ends a row of failures")
    func required() async throws {
        let client = try await Client(timeLimit: .seconds(5))
        let name = Self.name
        #expect(await client.isRight(1))
        let right = try #require(try await KeyRoot.find(name, in: client.module))
        client.module.expect([right])
        for failures in 0..<4 {
            // The client connects again after a second, and checks the key.
            try await poll { client.daemon.requestedLabels.count == 3 + 2 * failures }
            client.daemon.fail(.closeBeforeAnswer, times: 1)
            #expect(await !client.isRight(2))
            #expect(client.module.problem == nil)
        }
        #expect(await client.isRight(1) && client.module.problem == nil)
        client.module.expect([KeyRoot(name, check: [0, 0, 0, 0], in: client.module)])
        #expect(await !client.isRight(2))
    }

    @Test("a line is decoded only if it is one of the protocol, and its buffer is wiped")
    func lines() {
        let digits = String(repeating: "0a", count: 32)
        func take(_ parts: String...) -> ModuleLine.Taken {
            var (line, taken) = (ModuleLine(), ModuleLine.Taken.incomplete)
            for part in parts {
                let received = Array(part.utf8)
                taken = line.take(received)
                #expect(received.allSatisfy { $0 == 0 }, "\(part)")
            }
            return taken
        }
        for parts in [["ok \(digits)\n"], ["o", "k ", digits, "\n"]] {
            var (line, taken) = (ModuleLine(), ModuleLine.Taken.incomplete)
            for part in parts { taken = line.take(Array(part.utf8)) }
            guard case .answer(.code(let code)) = taken else {
                Issue.record("\(parts)")
                continue
            }
            #expect(code.bytes.exposedBytes() == [UInt8](repeating: 0x0A, count: 32))
        }
        if case .answer(.unknown) = take("unknown\n") {} else { Issue.record("unknown") }
        if case .answer(.busy) = take("bu", "sy 7\n") {} else { Issue.record("busy") }
        if case .answer(.failed) = take("failed key\n") {} else { Issue.record("failed") }
        if case .incomplete = take("ok \(digits)") {} else { Issue.record("incomplete") }
        let short = digits.dropLast()
        for text in [
            "", "ok", "ok ", "ok \(short)", "ok \(digits)0", "ok \(digits)00", "ok  \(digits)", "ok \(digits) ",
            "OK \(digits)", "ok \(digits.uppercased())", "ok \(short)g", "\(digits)", "ok \(digits)\nunknown",
            "busy", "busy -1", "busy soon", "busy 1 2", "failed", "failed 1", "failed a b", "unknown key",
            "unknown\r", String(repeating: "0", count: 80),
        ] {
            if case .invalid = take(text + "\n") {} else { Issue.record("\(text)") }
        }
    }

    @Test("after three failures in a row calls fail at once, until the daemon is back")
    func breaker() async throws {
        let client = try await Client()
        let (changes, source) = AsyncStream<String?>.makeStream()
        client.module.onChange { source.yield($0) }
        var observed = changes.makeAsyncIterator()
        client.daemon.fail(.held)
        for message in UInt8(0)..<3 { #expect(await !client.isRight(message)) }
        #expect(await observed.next()??.contains("no answer") == true)
        let count = client.daemon.requestedLabels.count
        #expect(count == 3)
        try await client.daemon.stop()
        for message in UInt8(0)..<20 { #expect(await !client.isRight(message)) }
        #expect(client.daemon.requestedLabels.count == count && client.module.problem != nil)
        client.daemon.recover()
        try await client.daemon.start()
        #expect(await observed.next() == .some(nil))
        #expect(await client.isRight(1) && client.module.problem == nil)
    }

    @Test("a request beyond the queue fails at once, and the others are answered in the end")
    func queue() async throws {
        let client = try await Client(connections: 2, timeLimit: .seconds(60))
        client.daemon.fail(.held)
        let rejected = 1_100 - 1_024 - 2
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<1_100 { group.addTask { await client.isRight(UInt8(index % 256)) } }
            for _ in 0..<rejected { #expect(await group.next() == false) }
            client.daemon.recover()
            client.daemon.release()
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test("a module that is slower than the requests stays in use, although most of them time out")
    func slow() async throws {
        let client = try await Client(connections: 4)
        client.daemon.fail(.late(Self.limit / 8))
        let right = await withTaskGroup(of: Bool.self) { group in
            for message in UInt8(0)..<200 { group.addTask { await client.isRight(message) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(right < 100)
        #expect(client.module.problem == nil)
        client.daemon.recover()
        #expect(await client.isRight(1))
    }

    @Test("the connections end with the vault that expects keys behind them")
    func unused() async throws {
        let daemon = try await VaultFixture(.module).daemon
        try await poll { daemon.connectionCount == 0 }
    }

    @Test("a daemon that was started again is used again, and one of several connections may end")
    func restarted() async throws {
        let client = try await Client(connections: 4)
        client.daemon.fail(.held, times: 4)
        let four = Task {
            await withTaskGroup(of: Bool.self) { group in
                for message in UInt8(0)..<4 { group.addTask { await client.isRight(message) } }
                return await group.allSatisfy(\.self)
            }
        }
        try await poll { client.daemon.requestedLabels.count == 4 }
        client.daemon.release()
        #expect(await four.value && client.daemon.connectionCount == 4)
        try await client.daemon.cut(1)
        // The client may send requests before it notices the end of their connections.
        try await poll { await client.isRight(0) }
        for message in UInt8(0)..<20 { #expect(await client.isRight(message)) }
        try await client.daemon.stop()
        try await client.daemon.start()
        try await poll { await client.isRight(0) }
        for message in UInt8(0)..<20 { #expect(await client.isRight(message)) }
    }

    @Test("a daemon that comes back with other keys is not used, and its return with the right ones needs no request")
    func otherModule() async throws {
        let fixture = try await VaultFixture(.module, timeLimit: Self.limit)
        let wallet = WalletID.random()
        let sealed = try await fixture.vault.keys(of: wallet, opening: []).seal(.random(count: 32), as: .unlockShare)
        try await fixture.daemon.stop()
        var roots = fixture.daemon.roots
        roots["key-1"] = roots["key-2"]
        let other = FakeModule(at: fixture.daemon.path, roots: roots)
        try await other.start()
        try await poll { fixture.vault.problem?.contains("key-1") == true }
        await #expect(throws: VaultError.unreachable) { try await fixture.vault.keys(of: wallet, opening: []) }
        try await other.stop()
        try await fixture.daemon.start()
        try await poll { fixture.vault.problem == nil }
        let keys = try await fixture.vault.keys(of: wallet, opening: [sealed])
        #expect(try keys.open(sealed, as: .unlockShare).count == 32)
    }
}
