import Secrets
import ServerTestSupport
import TestSupport
import Testing
import Vocabulary

@Suite("Registration, session and PIN check")
struct UnlockTests {
    @Test(
        "each platform's wallet registers and gets its unlock share only for the right PIN",
        arguments: Platform.allCases
    )
    func unlock(platform: Platform) async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(platform, pin: "135790")
            #expect(wallet.deletionCode != nil)
            let session = try await wallet.openSession()
            #expect(try await session.check("000000") == .wrong(.open(attemptsLeft: 3, finalRound: false)))
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
        }
    }

    @Test("four rounds with their blocks lead to the permanent block, which no PIN ends")
    func rounds() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            for block in [Duration.seconds(60), .seconds(300), .seconds(3600)] {
                let session = try await wallet.openSession()
                for left in [3, 2, 1] {
                    #expect(try await session.check("000000") == .wrong(.open(attemptsLeft: left, finalRound: false)))
                }
                #expect(try await session.check("000000") == .wrong(.blocked(remaining: block)))
                #expect(try await session.check("135790") == .blocked(remaining: block))
                server.clock.advance(by: block - .milliseconds(1))
                #expect(try await server.pinState(wallet) == .blocked(remaining: .milliseconds(1)))
                server.clock.advance(by: .milliseconds(1))
            }
            let last = try await wallet.openSession()
            for left in [3, 2, 1] {
                #expect(try await last.check("000000") == .wrong(.open(attemptsLeft: left, finalRound: true)))
            }
            #expect(try await last.check("000000") == .wrong(.blockedPermanently))
            #expect(try await last.check("135790") == .blockedPermanently)
            #expect(try await server.pinState(wallet) == .blockedPermanently)
            let blocks = server.log.lines.filter { $0.contains("wallet blocked") && $0.contains("\(wallet.walletID)") }
            #expect(blocks.count == 4)
            #expect(blocks.last?.contains("permanently") == true)
        }
    }
}
