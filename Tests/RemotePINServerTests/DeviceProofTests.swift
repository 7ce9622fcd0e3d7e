import Evidence
import Statements
import Testing
import Vocabulary
import Wire

@testable import RemotePINServer

@Suite("The form of device proofs")
struct DeviceProofTests {
    private let key = SigningKey()

    private func identity(_ platform: Platform, _ key: SigningKey) throws -> IdentityRecord {
        try #require(
            IdentityRecord(
                platform: platform,
                hardwareKey: key.publicKey,
                appID: "ABCDE12345.org.example.wallet",
                environment: platform == .iOS ? "production" : "",
                pinKey: SigningKey().publicKey,
                pinKeyID: .random()
            )
        )
    }

    @Test("a bare signature of the right key proves an Android wallet's hardware and not an iOS wallet's")
    func signature() throws {
        let binding = try #require(ChannelBinding([UInt8](repeating: 7, count: 32)))
        let statement = Statement(.session, channelBinding: binding, walletID: .random(), body: [1])
        let proof = try #require(DeviceProof(self.key.signature(for: statement.bytes).bytes))
        let proofs = DeviceProofs(decoy: try self.identity(.android, SigningKey()))
        let good = DeviceProofs.Finding.good(assertionCounter: nil)
        #expect(proofs.check(proof, of: statement, by: try self.identity(.android, self.key)) == good)
        #expect(proofs.check(proof, of: statement, by: try self.identity(.android, SigningKey())) == .bad)
        // A bare signature has no counter, so a single one could be reused forever.
        #expect(proofs.check(proof, of: statement, by: try self.identity(.iOS, self.key)) == .bad)
    }
}
