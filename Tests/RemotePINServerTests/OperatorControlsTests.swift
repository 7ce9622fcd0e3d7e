import ServerTestSupport
import TestSupport
import Testing
import Vocabulary
import WalletStore

@testable import RemotePINServer

@Suite("Flags and update policies set by operators")
struct OperatorControlsTests {
    private static let seed = UInt64.random(in: .min ... .max)

    private static func wallets(_ count: Int) -> [WalletID] {
        print("seed \(self.seed)")
        var generator = SeededGenerator(seed: self.seed)
        return (0..<count).map { _ in WalletID.random(using: &generator) }
    }

    @Test("an included wallet stays included as the percentage grows from 0 to 100")
    func stable() {
        let flag = FeatureFlag.safeBiometricUnlock
        for wallet in Self.wallets(500) {
            let states = (0...100).map { Rollout.percentage($0).includes(wallet, for: flag) }
            #expect(states.first == false && states.last == true)
            #expect(states.filter(\.self).count + (states.firstIndex(of: true) ?? 0) == 101, "it never goes out again")
        }
    }

    @Test("the included share of wallets is about the percentage", arguments: [1, 10, 50, 90])
    func share(percentage: Int) async {
        let wallets = Self.wallets(20_000)
        var count = 0
        for wallet in wallets {
            await Task.yield()
            if Rollout.percentage(percentage).includes(wallet, for: .safeBiometricUnlock) { count += 1 }
        }
        let expected = Double(percentage) / 100
        // Seven standard deviations: a false alarm once in about 10¹¹ runs.
        let tolerance = 7 * (expected * (1 - expected) / Double(wallets.count)).squareRoot()
        #expect(abs(Double(count) / Double(wallets.count) - expected) < tolerance)
    }

    @Test("a wallet's bucket is a hash of the feature and its id, and never changes")
    func place() throws {
        // sha256sum of 'remote-pin/1 rollout safe-biometric-unlock\0' and 16 zero bytes; the bucket
        // is the number in its first eight bytes modulo 100.
        let wallet = try #require(WalletID([UInt8](repeating: 0, count: 16)))
        let place = (1...100).first { Rollout.percentage($0).includes(wallet, for: .safeBiometricUnlock) }
        #expect(place == 2)
    }

    @Test("stored values decode to the written ones")
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
        "malformed rollouts are rejected",
        arguments: [
            "", "of", "off ", "on 1", "percentage", "percentage 101", "percentage -1", "percentage 05", "wallets",
            "wallets 00", "wallets \(String(repeating: "AB", count: 16))",
        ]
    )
    func badRollout(text: String) {
        #expect(Rollout(text: text) == nil)
    }

    @Test(
        "malformed rules are rejected",
        arguments: [
            "- - maybe", "- - warn", "- - warn x", "2 1 ok", "x - ok", "- -", "- - ok 5", "1.2  - ok", "- 0 ok",
            "- - ok\n- - no",
        ]
    )
    func badRule(text: String) {
        #expect(UpdateRule.rules(text: text) == nil)
    }

    @Test(
        "an unreadable value prevents the server's start: it could be a block",
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

    @Test("the value of an unknown flag is ignored")
    func newer() async throws {
        try await InProcessServer.run { server in
            _ = try await server.store.setOperatorValues(["flag later": "blue"], at: server.clock.now())
            let controls = try await OperatorControls(store: server.store, settings: UpdatePolicy())
            try await controls.set(["flag safe-biometric-unlock": "on"], at: server.clock.now())
            #expect(controls.isOn(.safeBiometricUnlock, for: .random()))
            #expect(try await server.store.operatorValues().values["flag later"]?.text == "blue")
        }
    }

    @Test("a server sees another server's changes to the same store after a refresh")
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

    @Test("the first matching rule applies, and a version without a match is ok")
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
