import SimulatedPhone
import Foundation
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary

@Suite("Attested facts, stored for operators")
struct AttestedFactsTests {
    /// Returns the stored facts; checks that the log holds the same.
    private func facts(
        _ platform: Platform,
        _ change: @escaping @Sendable (inout DeviceProfile) -> Void = { _ in }
    ) async throws -> [String: Any] {
        let found = Found()
        try await InProcessServer.run { server in
            var profile = DeviceProfile(platform)
            change(&profile)
            _ = try await TestWallet.register(
                at: server.endpoint,
                folder: server.folder.path,
                profile: profile,
                pin: "135790"
            )
            let line = try #require(server.log.lines.first { $0.contains("wallet registered") })
            let start = try #require(line.firstIndex(of: "{"))
            let end = try #require(line.lastIndex(of: "}"))
            found.text = String(line[start...end])
        }
        let json = try JSONSerialization.jsonObject(with: Data(found.text.utf8))
        return try #require(json as? [String: Any])
    }

    private final class Found {
        var text = ""
    }

    @Test("an Android device: level, boot state, versions, patch levels, brand and model, app and time")
    func android() async throws {
        let facts = try await self.facts(.android)
        #expect(facts["platform"] as? String == "android")
        #expect(facts["security_level"] as? String == "TrustedEnvironment")
        #expect(facts["boot_state"] as? String == "Verified")
        for name in ["os_version", "brand", "model", "app", "app_version", "provisioning"] {
            #expect((facts[name] as? String)?.isEmpty == false, "\(name)")
        }
        for name in ["os_patch_level", "vendor_patch_level", "boot_patch_level", "verified_ms"] {
            #expect(facts[name] as? Int ?? 0 > 0, "\(name)")
        }
        #expect((facts["root"] as? String)?.hasPrefix("sha256:") == true)
        // A lab's chain has four certificates.
        let serials = try #require(facts["serials"] as? String).split(separator: " ")
        #expect(serials.count == 4 && serials.allSatisfy { $0.allSatisfy(\.isHexDigit) })
    }

    @Test("long texts are truncated: the signer of a chain controls their length")
    func longTexts() async throws {
        let facts = try await self.facts(.android) { profile in
            profile.brand = String(repeating: "\u{1}", count: 8_000)
            profile.model = String(repeating: "e\u{301}", count: 4_000)
        }
        #expect((facts["brand"] as? String)?.unicodeScalars.count == 100)
        #expect((facts["model"] as? String)?.unicodeScalars.count == 100)
    }

    @Test("an iPhone with iOS 27 registers with its bundle version and opens a session")
    func iOS27() async throws {
        try await InProcessServer.run { server in
            var profile = DeviceProfile(.iOS)
            profile.osVersion = "27.0"
            let wallet = try await TestWallet.register(
                at: server.endpoint,
                folder: server.folder.path,
                profile: profile,
                pin: "135790"
            )
            let line = try #require(server.log.lines.first { $0.contains("wallet registered") })
            #expect(line.contains(#""app_version":"1.0.0""#))
            let session = try await wallet.openSession()
            session.connection.close()
            #expect(!server.log.lines.contains { $0.contains("extension data") })
        }
    }

    @Test("an iOS device: level, environment, OS version, app and time; the root is a name, not a file path")
    func iOS() async throws {
        let facts = try await self.facts(.iOS)
        #expect(facts["platform"] as? String == "ios")
        #expect(facts["security_level"] as? String == "SecureEnclave")
        #expect(facts["environment"] as? String == "production")
        #expect((facts["app"] as? String)?.contains(".org.example.wallet") == true)
        #expect(facts["verified_ms"] as? Int ?? 0 > 0)
        #expect((facts["root"] as? String)?.contains("/") == false)
    }
}
