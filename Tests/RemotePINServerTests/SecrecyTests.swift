import Administration
import WalletFlows
import HostSystem
import Secrets
import ServerTestSupport
import SimulatedPhone
import Statements
import MetricsEndpoint
import Testing
import TestSupport
import Transport
import Vocabulary
import Wire

/// A search of the log, at its lowest level, and of the metrics for every secret of the server and
/// its wallets.
@Suite("Secrets in the log and the metrics")
struct SecrecyTests {
    private static let pins = ["135790", "246813", "908172"]
    private static let recoveryCode: RecoveryCode = "NL-recovery-code-of-a-person"

    /// The secrets that a wallet shares with the server or keeps from it.
    private static func secrets(of wallet: TestWallet, evidence: DeviceEvidence) -> SecretScanner {
        var scanner = SecretScanner()
        for pin in Self.pins { scanner.add("PIN", word: pin) }
        scanner.add("unlock share", wallet.unlockShare.exposedBytes())
        scanner.add("recovery code", Self.recoveryCode.bytes)
        scanner.add("enrollment token", wallet.token)
        if let code = wallet.deletionCode {
            for form in [code.characters, code.grouped, code.characters.lowercased()] {
                scanner.add("deletion code", word: form)
            }
        }
        switch evidence {
        case .android(let chain): for certificate in chain { scanner.add("certificate", certificate) }
        case .apple(let object, let keyID):
            scanner.add("attestation object", object)
            scanner.add("key id", keyID)
        }
        return scanner
    }

    /// Adds the keys of the vault's file.
    private static func addVault(of server: InProcessServer, to scanner: inout SecretScanner) throws {
        let file = String(
            decoding: try DurableFile.read("\(server.folder.path)/vault.key", atMost: 1 << 16),
            as: UTF8.self
        )
        let words: [Substring] = file.split(whereSeparator: \.isWhitespace)
        let keys = words.filter { $0.utf8.count == 64 }
        try #require(keys.count >= 2)
        for digits in keys {
            let bytes = stride(from: 0, to: 64, by: 2).compactMap { place in
                UInt8(digits.dropFirst(place).prefix(2), radix: 16)
            }
            scanner.add("vault key", bytes)
        }
    }

    /// Makes every call, both with success and with a refusal.
    private static func use(_ wallet: TestWallet, of server: InProcessServer) async throws -> [[UInt8]] {
        let session = try await wallet.openSession()
        var shares: [[UInt8]] = []
        if case .active(let active) = session.opening, let share = active.presenceShare {
            shares.append(share.exposedBytes())
        }
        _ = try await session.check("000000")
        _ = try await session.check(Self.pins[0])
        _ = try await session.instruct(.showDeletionCode, pin: Self.pins[0])
        _ = try await session.instruct(.linkRecoveryCode(Self.recoveryCode), pin: Self.pins[0])
        _ = try await session.changePIN(from: Self.pins[0], to: Self.pins[1])
        _ = try await session.check(Self.pins[2])
        _ = try await session.connection.call(.unknown, timeout: TestWallet.patience)
        let stale = try session.instructCall(pin: Self.pins[1], counter: 1)
        _ = try await session.connection.call(.instruct(stale), timeout: TestWallet.patience)
        let other = try await server.endpoint.greet()
        var forged = try await wallet.sessionCall(on: session.connection)
        forged.body += [0]
        _ = try? await other.call(.openSession(forged), timeout: TestWallet.patience)
        return shares
    }

    @Test(
        "no line of the log and no metric holds a secret of the wallets or the vault, in any encoding",
        arguments: [Platform.android, .iOS]
    )
    func secrets(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(platform, pin: Self.pins[0])
            // Equivalent to the wallet's own evidence, which its phone does not keep.
            let phone = try server.device(DeviceProfile(platform))
            let connection = try await server.endpoint.greet(platform)
            let began = try await connection.call(.beginEnrollment, timeout: TestWallet.patience)
            guard case .beginEnrollment(let enrollment) = began else { throw UnexpectedAnswer(began) }
            let evidence = try await phone.createKey(challenge: .of(enrollment.token))
            let register = try await TestWallet.registration(
                of: phone,
                enrollment,
                pair: TestWallet.PINPair(),
                pin: Self.pins[0],
                on: connection,
                evidence: evidence
            )
            guard
                case .register(let registration) = try await connection.call(
                    .register(register),
                    timeout: TestWallet.patience
                )
            else { throw UnexpectedAnswer() }
            var scanner = Self.secrets(of: wallet, evidence: evidence)
            scanner.add("unlock share", registration.unlockShare.exposedBytes())
            try Self.addVault(of: server, to: &scanner)
            for share in try await Self.use(wallet, of: server) { scanner.add("presence share", share) }
            let code = try wallet.deletionCode.orThrow()
            try await server.give(ShowWallet(wallet.walletID))
            try await server.give(RevokeRecoveryCode(Self.recoveryCode))
            try await server.give(ShowStatus())
            try await server.give(RevokeWallets([wallet.walletID]))
            _ = try await connection.call(.revokeWithCode(code.grouped), timeout: TestWallet.patience)

            let lines = server.log.lines
            // About twenty lines; those of ending connections may follow later.
            #expect(lines.count > 10, "\(lines.count)")
            let log = lines.joined(separator: "\n")
            let findings = scanner.findings(in: log) + scanner.findings(in: Exposition.text(of: server.metrics))
            #expect(findings.isEmpty, "\(findings)")
            // The same search finds each secret in a text that holds it.
            #expect(scanner.findings(in: log + "\n" + "\(registration.unlockShare.exposedBytes())").count == 1)
            #expect(scanner.findings(in: log + " " + code.grouped).count >= 1)
        }
    }
}
