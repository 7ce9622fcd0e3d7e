import TestSupport
import Testing
import Vocabulary
import Wire

/// A request of id 7 whose command is field `field`, filled by hand.
private func request(_ field: UInt64, _ fill: (inout ProtoWriter) -> Void) -> [UInt8] {
    ProtoWriter.message {
        $0.number(1, 7)
        $0.message(field, fill)
    }
}

private func wallets(_ ids: [[UInt8]]) -> [UInt8] {
    request(4) { for id in ids { $0.bytes(1, id) } }
}

private func code(_ count: Int) -> [UInt8] {
    request(5) { $0.bytes(1, Samples.bytes(count)) }
}

private func page(after: Int, limit: UInt64) -> [UInt8] {
    request(8) {
        $0.bytes(1, Samples.bytes(after))
        $0.number(2, limit)
    }
}

private func denied(_ fill: (inout ProtoWriter) -> Void) -> [UInt8] {
    request(9) { $0.message(1, fill) }
}

private func flag(name: UInt64 = 1, _ rollout: (inout ProtoWriter) -> Void) -> [UInt8] {
    request(12) {
        $0.number(1, name)
        $0.message(2, rollout)
    }
}

private func policy(platforms: [UInt64] = [1], _ rules: [(inout ProtoWriter) -> Void]) -> [UInt8] {
    request(14) {
        for platform in platforms { $0.number(1, platform) }
        for rule in rules { $0.message(2, rule) }
    }
}

private func rule(
    from: String = "",
    below: String = "",
    kind: UInt64 = 1,
    until: UInt64 = 0,
    available: UInt64 = 0
) -> [UInt8] {
    policy([
        {
            $0.text(1, from)
            $0.text(2, below)
            $0.number(3, kind)
            $0.number(4, until)
            $0.number(5, available)
        }
    ])
}

@Suite("Operators' messages")
struct AdminMessageTests {
    private static let seed = UInt64.random(in: .min ... .max)

    static func ids(_ count: Int) -> [WalletID] {
        var generator = SeededGenerator(seed: self.seed)
        return (0..<count).map { _ in WalletID.random(using: &generator) }
    }

    private static func rules(_ count: Int) throws -> [UpdateRule] {
        let words: [UpdateRule.Word] = [
            .ok, .notify, .recommend, .warn(until: Timestamp(milliseconds: .max)), .block(updateAvailable: true),
            .block(updateAvailable: false),
        ]
        return try (0..<count).map { index in
            let from = try #require(AppVersion("999999.999999.999999.\(index)"))
            let below = try #require(AppVersion("999999.999999.999999.999999"))
            let word = words[index % words.count]
            return try #require(
                UpdateRule(from: index % 3 == 0 ? nil : from, below: index % 2 == 0 ? nil : below, word)
            )
        }
    }

    static func commands() throws -> [AdminCommand] {
        let code = try #require(RecoveryCode(Samples.bytes(128)))
        let mac = try #require(RecoveryCodeMAC(Samples.bytes(32)))
        return [
            .advanceClock(by: .seconds(61)), .showWallet(try #require(Samples.walletID)),
            .revokeWallets(self.ids(1)), .revokeWallets(self.ids(AdminCommand.mostWallets)),
            .revokeRecoveryCode(code), .revokeSolution, .restoreSolution, .listDenied(after: nil, limit: 1),
            .listDenied(after: mac, limit: AdminCommand.mostDenied), .showDenied(.code(code)), .showDenied(.mac(mac)),
            .removeDenied(.code(code)), .removeDenied(.mac(mac)), .listFlags, .setFlag(.safeBiometricUnlock, .off),
            .setFlag(.safeBiometricUnlock, .on), .setFlag(.safeBiometricUnlock, .percentage(0)),
            .setFlag(.safeBiometricUnlock, .percentage(100)),
            .setFlag(.safeBiometricUnlock, .wallets(Set(self.ids(Rollout.mostWallets)))), .showUpdatePolicy,
            .setUpdatePolicy([.android], []), .setUpdatePolicy([.android, .iOS], try self.rules(UpdateRule.most)),
            .clearUpdatePolicy([.iOS]), .unknown, .showStatus, .reload, .setLogLevel(nil),
            .startBackup(path: "/b"), .rotateVault, .retireVault, .showUpkeep, .showVaultKeys,
            .listWallets(WalletFilter(), after: nil, limit: 1),
            .listWallets(
                WalletFilter(
                    conditions: Set(WalletCondition.allCases),
                    platform: .iOS,
                    registeredFrom: Timestamp(milliseconds: 1),
                    registeredBefore: Timestamp(milliseconds: .max)
                ),
                after: .max,
                limit: AdminCommand.mostListed
            ),
            .listSessions(after: nil, limit: 1), .listSessions(after: .max, limit: AdminCommand.mostListed),
        ] + LogLevel.allCases.map { .setLogLevel($0) }
    }

    static func results() throws -> [AdminResult] {
        let mac = try #require(RecoveryCodeMAC(Samples.bytes(32)))
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        let entry = DeniedEntry(mac: mac, deniedAt: time)
        let page = DeniedPage(entries: Array(repeating: entry, count: AdminCommand.mostDenied), hasMore: true)
        let rules = UpdatePolicyReport.Rules(try self.rules(UpdateRule.most), setAt: time)
        let settings = UpdatePolicyReport.Rules([], setAt: nil)
        var results: [AdminResult] = [
            .clockAdvanced(now: Timestamp(milliseconds: 9)), .walletsRevoked(now: 3, before: 997),
            .recoveryCodeRevoked(RecoveryCodeRevocation(entry: entry, wasDenied: true, revoked: 2)),
            .solution(isRevoked: true, changed: false), .deniedPage(page),
            .deniedPage(DeniedPage(entries: [], hasMore: false)), .denied(DeniedReport(mac: mac, deniedAt: nil)),
            .denied(DeniedReport(mac: mac, deniedAt: time)),
            .flags([FlagReport(.safeBiometricUnlock, .wallets(Set(self.ids(Rollout.mostWallets))), changedAt: time)]),
            .flags([FlagReport(.safeBiometricUnlock, .off, changedAt: nil)]),
            .updatePolicy(UpdatePolicyReport(now: time, android: rules, iOS: settings)),
            .updatePolicy(UpdatePolicyReport(now: time, android: settings, iOS: rules)),
        ]
        results += AdminFailure.Kind.allCases.map { .failed(AdminFailure($0, "Not in a lab.")) }
        results += try self.reports().map(AdminResult.wallet)
        results += try self.operations()
        return results
    }

    static func reports() throws -> [WalletReport] {
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        let states: [WalletReport.PIN] = [
            .init(state: .open(attemptsLeft: 4, finalRound: false), round: 1, failures: 0),
            .init(state: .blocked(remaining: .seconds(3)), round: 2, failures: 4, blockedUntil: time),
            .init(state: .blockedPermanently, round: 16, failures: 65_535),
        ]
        let wallet = try #require(Samples.walletID)
        return states.flatMap { pin in
            Platform.allCases.map { platform in
                WalletReport(
                    walletID: wallet,
                    now: time,
                    registeredAt: time,
                    sessionOpened: platform == .iOS,
                    lastSession: platform == .iOS ? time : nil,
                    openConnections: 2,
                    revoked: platform == .iOS
                        ? nil : .init(Revocation(reason: .wallet, mayRegisterAnew: true), at: time),
                    solutionRevoked: platform == .iOS,
                    pin: pin,
                    isLinkedToRecoveryCode: platform == .android,
                    hasDeletionCode: platform == .iOS,
                    features: Features(deletionCode: true, safeBiometricUnlock: platform == .iOS),
                    app: .init(platform: platform, id: "org.example", environment: platform == .iOS ? "x" : ""),
                    assertionCounter: platform == .iOS ? 0 : nil,
                    attested: String(repeating: "x", count: 8192)
                )
            }
        }
    }

    @Test("every command is read as it was written, the longest ones within a frame and its budget")
    func commandsThereAndBack() throws {
        for command in try Self.commands() {
            let request = AdminRequest(id: 3, command: command)
            let bytes = request.encoded()
            #expect(bytes.count <= 65_536)
            #expect(try AdminRequest(decoding: bytes) == request)
        }
    }

    @Test("every result is read as it was written, the longest ones within a frame and its budget")
    func resultsThereAndBack() throws {
        for result in try Self.results() {
            let response = AdminResponse(id: 4, result: result)
            let bytes = response.encoded()
            #expect(bytes.count <= 65_536)
            #expect(try AdminResponse(decoding: bytes) == response)
        }
    }

    @Test("a command does not print the recovery code that it carries")
    func codesAreNotPrinted() throws {
        let code = try #require(RecoveryCode(Array("GEHEIM".utf8)))
        for command in [AdminCommand.revokeRecoveryCode(code), .showDenied(.code(code))] {
            var dumped = ""
            dump(command, to: &dumped)
            #expect(!"\(command)".contains("71, 69"), "no byte of it")
            #expect("\(command)".contains("(recovery code)"))
        }
    }

    @Test(
        "each value of the wrong length or range is refused for its own reason, with the id of its command",
        arguments: [
            (request(3) { $0.bytes(1, Samples.bytes(15)) }, .walletID), (request(3) { _ in }, .walletID),
            (wallets([]), .walletIDs), (wallets([Samples.bytes(17)]), .walletIDs),
            (wallets([Samples.bytes(16), Samples.bytes(16)]), .walletIDs),
            (
                wallets((0...1000).map { [UInt8](repeating: UInt8($0 / 256), count: 15) + [UInt8($0 % 256)] }),
                .walletIDs
            ),
            (code(0), .recoveryCode), (code(129), .recoveryCode),
            (page(after: 31, limit: 1), .after), (page(after: 0, limit: 0), .limit),
            (page(after: 0, limit: 501), .limit),
            (denied { $0.bytes(1, []) }, .recoveryCode), (denied { $0.bytes(2, Samples.bytes(31)) }, .mac),
            (flag(name: 0) { $0.number(1, 1) }, .flag), (flag(name: 2) { $0.number(1, 1) }, .flag),
            (flag { $0.number(1, 0) }, .rollout), (flag { $0.number(1, 5) }, .rollout),
            (flag { $0.number(1, 3) }, .walletIDs),
            (
                flag {
                    $0.number(1, 4)
                    $0.number(3, 101)
                }, .rollout
            ),
            (
                flag {
                    $0.number(1, 2)
                    $0.number(3, 5)
                }, .rollout
            ),
            (
                flag {
                    $0.number(1, 1)
                    $0.bytes(2, Samples.bytes(16))
                }, .rollout
            ),
            (policy(platforms: [], []), .platforms), (policy(platforms: [1, 1], []), .platforms),
            (policy(platforms: [1, 2, 1], []), .platforms), (policy(platforms: [3], []), .platform),
            (policy(Array(repeating: { $0.number(3, 1) }, count: 65)), .rules),
            (rule(from: "1.x"), .versionRange), (rule(from: "2", below: "2.0"), .versionRange),
            (rule(from: "2", below: "1"), .versionRange), (rule(below: "0"), .versionRange),
            (rule(kind: 0), .rules), (rule(kind: 6), .rules), (rule(kind: 2, until: 5), .rules),
            (rule(kind: 4, available: 1), .rules), (rule(kind: 4, until: .max), .warnUntil),
            (request(16) { _ in }, .platforms), (request(18) { _ in }, .limit),
            (request(19) { $0.number(2, 501) }, .limit),
            (
                request(18) {
                    $0.number(2, 1)
                    $0.number(3, 6)
                }, .condition
            ),
            (
                request(18) {
                    $0.number(2, 1)
                    $0.number(3, 2)
                    $0.number(3, 2)
                }, .condition
            ),
            (
                request(18) {
                    $0.number(2, 1)
                    $0.number(4, 3)
                }, .platform
            ),
            (request(21) { $0.number(1, 6) }, .logLevel), (request(30) { _ in }, .path),
            (request(30) { $0.text(1, "not/from/the/root") }, .path),
            (request(30) { $0.text(1, "/" + String(repeating: "b", count: 4000)) }, .path),
        ] as [([UInt8], WireField)]
    )
    func invalid(frame: [UInt8], field: WireField) {
        #expect(throws: WireError.invalid(field, id: 7)) { try AdminRequest(decoding: frame) }
    }

    @Test(
        "a part that is left out is named",
        arguments: [
            (request(9) { _ in }, .deniedEntry), (denied { _ in }, .deniedEntry), (request(10) { _ in }, .deniedEntry),
            (request(12) { $0.number(1, 1) }, .rollout),
        ] as [([UInt8], WireField)]
    )
    func missing(frame: [UInt8], field: WireField) {
        #expect(throws: WireError.missing(field, id: 7)) { try AdminRequest(decoding: frame) }
    }

    @Test(
        "a command that says more than this version knows is an unknown command: nobody does half of it",
        arguments: [
            ProtoWriter.message { $0.number(1, 7) }, request(99) { $0.text(1, "later") },
            request(3) {
                $0.bytes(1, Samples.bytes(16))
                $0.number(9, 1)
            },
            request(4) {
                $0.bytes(1, Samples.bytes(16))
                $0.number(9, 1)
            },
            request(6) { $0.number(1, 1) }, request(7) { $0.number(1, 1) }, request(11) { $0.number(1, 1) },
            request(13) { $0.number(1, 1) }, request(17) { $0.number(1, 1) }, request(20) { $0.number(1, 1) },
            request(31) { $0.number(1, 1) }, request(32) { $0.number(1, 1) }, request(33) { $0.number(1, 1) },
            request(34) { $0.number(1, 1) },
            request(18) {
                $0.number(2, 1)
                $0.number(9, 1)
            },
            flag {
                $0.number(1, 2)
                $0.number(9, 1)
            },
            policy([
                {
                    $0.number(3, 1)
                    $0.number(9, 1)
                }
            ]),
            denied {
                $0.bytes(2, Samples.bytes(32))
                $0.number(9, 1)
            },
            ProtoWriter.message {
                $0.number(1, 7)
                $0.message(6) { _ in }
                $0.number(99, 1)
            },
        ]
    )
    func newer(frame: [UInt8]) throws {
        #expect(try AdminRequest(decoding: frame) == AdminRequest(id: 7, command: .unknown))
    }

    @Test("a failure's sentence that is too long is cut between characters")
    func longSentence() throws {
        let failure = AdminFailure(.unknownWallet, String(repeating: "é", count: 400))
        let bytes = AdminResponse(id: 1, result: .failed(failure)).encoded()
        guard case .failed(let read) = try AdminResponse(decoding: bytes).result else {
            Issue.record("another result")
            return
        }
        #expect(read.sentence == String(repeating: "é", count: 254) + "…")
    }

    @Test("messages with a few bytes changed are refused or read, and nothing else happens")
    func mutated() throws {
        print("seed \(Self.seed)")
        var generator = SeededGenerator(seed: Self.seed)
        var messages = try Self.commands().map { AdminRequest(id: 5, command: $0).encoded() }
        messages += try Self.results().map { AdminResponse(id: 5, result: $0).encoded() }
        for _ in 0..<3000 {
            guard var bytes = messages.randomElement(using: &generator), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<min(bytes.count, 64), using: &generator)
                bytes[index] = .random(in: .min ... .max, using: &generator)
            }
            _ = try? AdminRequest(decoding: bytes)
            _ = try? AdminResponse(decoding: bytes)
        }
    }
}
