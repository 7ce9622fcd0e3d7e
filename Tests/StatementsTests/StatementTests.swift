import Statements
import Testing
import Vocabulary

@Suite("Signed statements")
struct StatementTests {
    static let binding = ChannelBinding([UInt8](repeating: 1, count: 32))
    static let wallet = WalletID([UInt8](repeating: 2, count: 16))

    @Test("no purpose contains the zero byte that terminates it, and all purposes differ")
    func purposes() {
        #expect(Purpose.allCases.allSatisfy { !$0.rawValue.utf8.contains(0) })
        #expect(Set(Purpose.allCases.map(\.rawValue)).count == 5)
    }

    @Test("the order is purpose, zero, binding, wallet, counter, body")
    func layout() throws {
        let statement = Statement(
            .session,
            channelBinding: try #require(Self.binding),
            walletID: try #require(Self.wallet),
            counter: 0x0102_0304_0506_0708,
            body: [9, 8]
        )
        let expected =
            Array("remote-pin/1 session".utf8) + [0] + [UInt8](repeating: 1, count: 32)
            + [UInt8](repeating: 2, count: 16) + [1, 2, 3, 4, 5, 6, 7, 8] + [9, 8]
        #expect(statement.bytes == expected)
    }

    @Test("statements that differ in any part differ in their bytes")
    func uniqueness() throws {
        // Bodies that begin with bytes that could be mistaken for the end of the previous part.
        let bodies: [[UInt8]] = [[], [0], [0, 0], [1], [UInt8](repeating: 0, count: 8), Array(" pin".utf8)]
        var seen: Set<[UInt8]> = []
        var made = 0
        for purpose in Purpose.allCases {
            for bindingByte in [UInt8(0), 1] {
                for walletByte in [UInt8(0), 1] {
                    for counter in [UInt64(0), 1, 256, .max] {
                        for body in bodies {
                            let statement = Statement(
                                purpose,
                                channelBinding: try #require(
                                    ChannelBinding([UInt8](repeating: bindingByte, count: 32))
                                ),
                                walletID: try #require(WalletID([UInt8](repeating: walletByte, count: 16))),
                                counter: counter,
                                body: body
                            )
                            seen.insert(statement.bytes)
                            made += 1
                        }
                    }
                }
            }
        }
        #expect(seen.count == made)
    }
}
