import RemotePINServer
import ServerTestSupport
import Statements
import TestSupport
import Testing
import Transport
import Vault
import Vocabulary
import WalletStore
import Wire

/// A signer whose key cannot be used.
private struct NoSigner: ReceiptSigner {
    func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot? { nil }
}

@Suite("Receipts of verdicts")
struct ReceiptTests {
    private func judged(_ session: TestSession, pin: String) async throws -> Receipt {
        let call = try session.instructCall(pin: pin)
        let answer = try await session.connection.call(.instruct(call), timeout: TestWallet.patience)
        guard case .judged(_, let receipt) = answer else { throw UnexpectedAnswer(answer) }
        return receipt
    }

    @Test("every verdict carries a receipt by the key that the session states")
    func verdicts() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let key = try #require(server.vault.receiptKeys(upTo: nil)?.last?.key)
            let session = try await wallet.openSession()
            for (number, pin) in ["000000", "135790", "000001", "135790"].enumerated() {
                let receipt = try await self.judged(session, pin: pin)
                #expect(receipt.isGenuine(by: key) && receipt.leaf.walletID == wallet.walletID)
                #expect(receipt.leaf.number == UInt64(number + 1))
            }
        }
    }

    @Test("the newest root is written to the log once an hour, if there is a new one")
    func hourlyRoot() async throws {
        try await InProcessServer.run { server in
            func written() async -> [String] {
                await server.server.runDueTimers()
                return server.log.lines.filter { $0.contains("signedRoot=") }
            }
            let wallet = try await server.wallet()
            let first = try await self.judged(try await wallet.openSession(), pin: "000000")
            #expect(await written().count == 1)
            let second = try await self.judged(try await wallet.openSession(), pin: "135790")
            server.clock.advance(by: .seconds(3599))
            #expect(await written().count == 1)
            server.clock.advance(by: .seconds(1))
            for (line, receipt) in zip(await written(), [first, second]) {
                #expect(line.contains(receipt.signed.encoded().hex), "\(line)")
            }
            server.clock.advance(by: .seconds(3600))
            #expect(await written().count == 2)
        }
    }

    @Test("a rotation of the vault's keys rotates the receipt key, and the links to it outlive the old version")
    func rotation() async throws {
        try await InProcessServer.run { server in
            let pinned = try #require(server.vault.receiptKeys(upTo: nil)?.last?.key)
            _ = try await server.vault.addVersion(activating: true)
            _ = try await server.vault.addVersion(activating: true)
            try await server.vault.remove([1])
            try await server.vault.reload()
            let check = try #require(server.vault.check(of: 3))
            _ = try await server.store.note(vaultVersion: 3, check: check, at: server.clock.now())
            let newest = try #require(server.vault.receiptKeys(upTo: nil).flatMap(pinned.successors)?.last)
            #expect(newest.id == 3)
            // A wallet's values need the key version that sealed them, so this one registers now.
            let wallet = try await server.wallet()
            let receipt = try await self.judged(try await wallet.openSession(), pin: "000000")
            #expect(receipt.isGenuine(by: newest) && !receipt.isGenuine(by: pinned))
        }
    }

    @Test("without a signature the connection closes without an answer, and the attempt is counted")
    func unsigned() async throws {
        var options = InProcessServer.Options()
        options.receiptSigner = { _ in NoSigner() }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            for pin in ["000000", "135790"] {
                let session = try await wallet.openSession()
                #expect(try await session.check(pin) == .closed)
            }
            let session = try await wallet.openSession()
            #expect(session.pinState == .open(attemptsLeft: 4, finalRound: false))
            #expect(try await session.check("000000") == .closed)
            #expect(try await wallet.openSession().pinState == .open(attemptsLeft: 3, finalRound: false))
        }
    }
}
