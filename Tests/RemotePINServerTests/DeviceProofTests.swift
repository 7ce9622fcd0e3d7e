import Evidence
import Lab
import Logging
import ServerTestSupport
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
                environment: platform == .iOS ? "production" : ""
            )
        )
    }

    @Test("a bare signature of the right key proves an Android wallet's hardware and not an iOS wallet's")
    func signature() throws {
        let binding = try #require(ChannelBinding([UInt8](repeating: 7, count: 32)))
        let statement = Statement(.session, channelBinding: binding, walletID: .random(), body: [1])
        let proof = try #require(DeviceProof(self.key.signature(for: statement.bytes).bytes))
        let proofs = DeviceProofs(decoy: try self.identity(.android, SigningKey())) { _ in }
        let good = DeviceProofs.Finding.good(assertionCounter: nil)
        #expect(proofs.check(proof, of: statement, by: try self.identity(.android, self.key)) == good)
        #expect(proofs.check(proof, of: statement, by: try self.identity(.android, SigningKey())) == .bad)
        // A bare signature has no counter, so a single one could be reused forever.
        #expect(proofs.check(proof, of: statement, by: try self.identity(.iOS, self.key)) == .bad)
    }

    @Test("extension data of a later iOS does not stop its assertions, and each kind is logged once")
    func laterExtensions() throws {
        let binding = try #require(ChannelBinding([UInt8](repeating: 7, count: 32)))
        let statement = Statement(.session, channelBinding: binding, walletID: .random(), body: [1])
        let identity = try self.identity(.iOS, self.key)
        let log = RecordedLog()
        let notices = ExtensionNotices(log: Logger(label: "test") { _ in log.handler })
        let proofs = DeviceProofs(decoy: try self.identity(.android, SigningKey())) { notices.note($0) }
        func check(_ hex: String, signedBy key: SigningKey, _ counter: UInt32) throws -> DeviceProofs.Finding {
            let bytes = try #require([UInt8](hex: hex))
            let assertion = AppAttestKey(key, appID: identity.appID).assertion(
                for: statement.digest,
                counter: counter,
                extensions: try AppAttestExtensions(decoding: bytes[...])
            )
            return proofs.check(try #require(DeviceProof(assertion.encoded)), of: statement, by: identity)
        }
        // Without the registered key nothing is logged: {"a": 1.0}.
        #expect(try check("a16161fb3ff0000000000000", signedBy: SigningKey(), 1) == .bad)
        #expect(log.lines.isEmpty)
        // {"a\n": 1.0}, an indefinite map with a tag, and two maps.
        for (index, hex) in ["a1610afb3ff0000000000000", "bf6162c100ff", "a16163f5a16164f5", "a1616501"].enumerated() {
            #expect(try check(hex, signedBy: self.key, UInt32(index + 1)) == .good(assertionCounter: UInt32(index + 1)))
        }
        let message = "notice skipped App Attest extension data of an unknown kind, which is logged once kind="
        #expect(log.lines == ["encoding names=?", "name names=?", "maps names=c d"].map { message + $0 })
    }
}
