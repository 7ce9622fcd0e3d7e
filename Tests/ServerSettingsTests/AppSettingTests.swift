import ServerSettings
import Testing
import Vocabulary

@Suite("Settings of apps that may register")
struct AppSettingTests {
    @Test("an Android app is a package, a digest and an optional version")
    func app() throws {
        let digest = String(repeating: "a1", count: 32)
        let app = try #require(AndroidAppSetting("org.example.wallet:\(digest):12"))
        #expect(app.minimumVersion == 12)
        #expect(app.description == "org.example.wallet:\(digest):12")
        #expect(AndroidAppSetting("wallet:\(digest)") == nil)
        #expect(AndroidAppSetting("org.example.wallet:a1") == nil)
    }

    @Test("an iOS app is a team, a bundle and an optional version")
    func iOSApp() throws {
        let app = try #require(AppleAppSetting("ABCDE12345.org.example.wallet:2026112806.1"))
        #expect(app.id == "ABCDE12345.org.example.wallet")
        #expect(app.minimumVersion == BundleVersion("2026112806.1"))
        #expect(app.description == "ABCDE12345.org.example.wallet:2026112806.1")
        #expect(AppleAppSetting("ABCDE12345.org.example.wallet")?.minimumVersion == nil)
        for text in ["", ":1", "\(app.id):", "\(app.id):1.x", "\(app.id):1:2", "ABCDE1234.org.example.wallet:1"] {
            #expect(AppleAppSetting(text) == nil, "\(text)")
        }
    }
}
