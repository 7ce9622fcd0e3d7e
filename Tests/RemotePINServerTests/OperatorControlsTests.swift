import ServerTestSupport
import TestSupport
import Testing
import Vocabulary
import WalletStore

@testable import RemotePINServer

@Suite("What operators set")
struct OperatorControlsTests {
    private static let seed = UInt64.random(in: .min ... .max)

    private static func wallets(_ count: Int) -> [WalletID] {
        print("seed \(self.seed)")
        var generator = SeededGenerator(seed: self.seed)
        return (0..<count).map { _ in WalletID.random(using: &generator) }
    }

    @Test("a wallet that is in stays in as the percentage grows, from nobody to everybody")
    func stable() {
        let flag = FeatureFlag.safeBiometricUnlock
        for wallet in Self.wallets(500) {
            let states = (0...100).map { Rollout.percentage($0).includes(wallet, for: flag) }
            #expect(states.first == false && states.last == true)
            #expect(states.filter(\.self).count + (states.firstIndex(of: true) ?? 0) == 101, "it never goes out again")
        }
    }

    @Test("about as many wallets are in as the percentage says", arguments: [1, 10, 50, 90])
    func share(percentage: Int) async {
        let wallets = Self.wallets(20_000)
        var count = 0
        for wallet in wallets {
            await Task.yield()
            if Rollout.percentage(percentage).includes(wallet, for: .safeBiometricUnlock) { count += 1 }
        }
        let expected = Double(percentage) / 100
        // Seven standard deviations: once in some hundred thousand million runs by chance.
        let tolerance = 7 * (expected * (1 - expected) / Double(wallets.count)).squareRoot()
        #expect(abs(Double(count) / Double(wallets.count) - expected) < tolerance)
    }

    @Test("a wallet's place is a hash of the feature and its id, and never moves")
    func place() throws {
        // printf 'remote-pin/1 rollout safe-biometric-unlock\0' and sixteen zeros, by sha256sum: the number is told by
        // its first eight bytes, modulo 100.
        let wallet = try #require(WalletID([UInt8](repeating: 0, count: 16)))
        let place = (1...100).first { Rollout.percentage($0).includes(wallet, for: .safeBiometricUnlock) }
        #expect(place == 2)
    }

    @Test("what is set is read as it was written")
    func texts() throws {
        let rollouts: [Rollout] = [
            .off, .on, .percentage(0), .percentage(100), .wallets(Set(Self.wallets(Rollout.mostWallets))),
        ]
        for rollout in rollouts { #expect(Rollout(text: rollout.text) == rollout) }
        let words: [UpdateRule.Word] = [
            .ok, .notify, .recommend, .warn(until: Timestamp(milliseconds: 5)), .block(updateAvailable: true),
            .block(updateAvailable: false),
        ]
        var rules: [UpdateRule] = []
        for word in words {
            for (from, below) in [(nil, nil), ("1.2", nil), (nil, "3"), ("1.2", "3.0.0.1")] as [(String?, String?)] {
                rules.append(
                    try #require(
                        UpdateRule(from: from.flatMap { AppVersion($0) }, below: below.flatMap { AppVersion($0) }, word)
                    )
                )
            }
        }
        #expect(UpdateRule.rules(text: UpdateRule.text(of: rules)) == rules)
        #expect(UpdateRule.rules(text: "") == [])
    }

    @Test(
        "what was not written so is not read",
        arguments: [
            "", "of", "off ", "on 1", "percentage", "percentage 101", "percentage -1", "percentage 05", "wallets",
            "wallets 00", "wallets \(String(repeating: "AB", count: 16))",
        ]
    )
    func badRollout(text: String) {
        #expect(Rollout(text: text) == nil)
    }

    @Test(
        "what was not written so is no rule either",
        arguments: [
            "- - maybe", "- - warn", "- - warn x", "2 1 ok", "x - ok", "- -", "- - ok 5", "1.2  - ok", "- 0 ok",
            "- - ok\n- - no",
        ]
    )
    func badRule(text: String) {
        #expect(UpdateRule.rules(text: text) == nil)
    }

    @Test(
        "a value that cannot be read stops the server from starting: it could be a block",
        arguments: ["update-policy android", "update-policy ios", "flag safe-biometric-unlock"]
    )
    func unreadable(name: String) async throws {
        try await InProcessServer.run { server in
            _ = try await server.store.setOperatorValues([name: "nonsense"], at: server.clock.now())
            await #expect(throws: StoreError.corrupt) {
                _ = try await OperatorControls(store: server.store, settings: UpdatePolicy())
            }
        }
    }

    @Test("a value of a newer version's flag is left alone")
    func newer() async throws {
        try await InProcessServer.run { server in
            _ = try await server.store.setOperatorValues(["flag later": "blue"], at: server.clock.now())
            let controls = try await OperatorControls(store: server.store, settings: UpdatePolicy())
            try await controls.set(["flag safe-biometric-unlock": "on"], at: server.clock.now())
            #expect(controls.isOn(.safeBiometricUnlock, for: .random()))
            #expect(try await server.store.operatorValues().values["flag later"]?.text == "blue")
        }
    }

    @Test("what one server set another on the same store knows after it looked again")
    func shared() async throws {
        try await InProcessServer.run { server in
            let first = try await OperatorControls(store: server.store, settings: UpdatePolicy())
            let second = try await OperatorControls(store: server.store, settings: UpdatePolicy())
            try await first.set(["update-policy android": "- - block"], at: server.clock.now())
            let version = try #require(AppVersion("1"))
            let now = server.clock.now()
            #expect(second.verdict(on: version, platform: .android, at: now) == .ok)
            try await second.refresh()
            #expect(second.verdict(on: version, platform: .android, at: now) == .block(updateAvailable: true))
            #expect(second.verdict(on: version, platform: .iOS, at: now) == .ok)
        }
    }

    @Test("the first rule that fits counts, and none that fits is fine")
    func firstRule() throws {
        func rule(_ from: String?, _ below: String?, _ word: UpdateRule.Word) throws -> UpdateRule {
            let range = (from.flatMap { AppVersion($0) }, below.flatMap { AppVersion($0) })
            return try #require(UpdateRule(from: range.0, below: range.1, word))
        }
        let policy = UpdatePolicy(
            android: [
                try rule("1.3", "1.4", .ok), try rule(nil, "2", .block(updateAvailable: false)),
                try rule("1", "3", .recommend),
            ],
            iOS: []
        )
        func verdict(_ version: String, _ platform: Platform = .android) throws -> UpdateVerdict {
            let now = Timestamp(milliseconds: 0)
            return policy.verdict(on: try #require(AppVersion(version)), platform: platform, at: now)
        }
        #expect(try verdict("1.3.5") == .ok)
        #expect(try verdict("1.4") == .block(updateAvailable: false))
        #expect(try verdict("2.5") == .recommend)
        #expect(try verdict("3") == .ok)
        #expect(try verdict("1.4", .iOS) == .ok)
    }
}
