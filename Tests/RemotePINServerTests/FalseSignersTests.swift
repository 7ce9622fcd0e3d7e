import ServerTestSupport
import TestSupport
import Testing
import Vocabulary
import Wire

@testable import RemotePINServer

@Suite("Wallets that sent a false signature")
struct FalseSignersTests {
    private let now = Timestamp(milliseconds: 1_795_000_000_000)

    @Test("a wallet's signatures are verified alone for an hour after a false one")
    func hour() {
        let (signers, wallet) = (FalseSigners(), WalletID.random())
        #expect(!signers.contains(wallet, at: self.now))
        signers.note(wallet, at: self.now)
        #expect(signers.contains(wallet, at: self.now))
        #expect(!signers.contains(.random(), at: self.now))
        #expect(signers.contains(wallet, at: self.now + .milliseconds(3_599_999)))
        #expect(!signers.contains(wallet, at: self.now + .seconds(3600)))
        #expect(!signers.contains(wallet, at: self.now + .seconds(3599)), "forgotten")
    }

    @Test("a limited number of wallets is remembered, expired ones are forgotten first")
    func limit() {
        let signers = FalseSigners()
        for _ in 0..<FalseSigners.most { signers.note(.random(), at: self.now) }
        let later = (0..<FalseSigners.most).map { _ in WalletID.random() }
        for wallet in later { signers.note(wallet, at: self.now + .seconds(3600)) }
        #expect(later.allSatisfy { signers.contains($0, at: self.now + .seconds(3601)) })
        let one = WalletID.random()
        signers.note(one, at: self.now + .seconds(3601))
        #expect(later.count { signers.contains($0, at: self.now + .seconds(3601)) } == FalseSigners.most - 1)
        #expect(signers.contains(one, at: self.now + .seconds(3601)))
    }

    @Test(
        "only a false signature with a disclosed R is remembered, and the wallet is served further",
        arguments: [true, false]
    )
    func served(tellsNonce: Bool) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            var forged = try session.instructCall(pin: "135790", tellsNonce: tellsNonce)
            forged.body[5] ^= 1
            #expect(await session.connection.answer(.instruct(forged)) == .refused(.authenticationFailed))
            let signers = server.server.state.limits.falseSigners
            #expect(signers.contains(wallet.walletID, at: server.clock.now()) == tellsNonce)
            let next = try await wallet.openSession()
            #expect(try await next.check("135790") == wallet.unlockShare.asValid)
            var other = try next.instructCall(pin: "135790")
            other.pinNonceY = try next.instructCall(pin: "135790", counter: 1).pinNonceY
            #expect(await next.connection.answer(.instruct(other)) == .refused(.authenticationFailed))
        }
    }
}
