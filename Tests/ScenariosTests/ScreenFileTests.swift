import Foundation
import Testing
import Vocabulary
import WalletFlows

@testable import Scenarios
@testable import SimulatedPhone

@Suite("Files of whole screens")
struct ScreenFileTests {
    private let snapshot: Snapshot

    init() throws {
        let version = try #require(AppVersion("1.4.0"))
        self.snapshot = Snapshot(now: Timestamp(milliseconds: 0), uptime: .zero, appVersion: version)
    }

    @Test("the screens that no scenario shows, the splash screen and an invalid answer to Hello, are in the files, too")
    func others() throws {
        var app = AppStateMachine()
        _ = app.launch(self.snapshot)
        try self.compare(app.scene, with: "UC1.2.txt")
        #expect(app.timerFired(self.snapshot) == .ask(.askUpdatePolicy))
        let failure = Failure.generic(correlationID: "wallet-reply-malformed-0a1b2c3d", cause: .replyMalformed)
        _ = app.receive(.failed(failure), self.snapshot)
        try self.compare(app.scene, with: "PF1.4.txt")
    }

    /// Compares a scene on a locked phone with its parts of the file, which `UPDATE_GOLDENS=1` writes.
    private func compare(_ scene: Scene?, with file: String) throws {
        let scene = try #require(scene)
        let path = Repository.path("Tests/Scenarios/screens/\(file)")
        for language in Wording.Language.allCases {
            let screen = Wording(language: language).screen(scene, at: self.snapshot.now, uptime: .zero)
            var picture = Picture(screen)
            picture.words = FrameWords(language: language)
            (picture.phone, picture.states) = ("Android 16", [picture.words("locked")])
            let captures = ScreenFile.captures(of: picture, in: language)
            if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
                try ScreenFile.update(path, with: captures)
            }
            var found = Differences()
            try ScreenFile(path).compare(captures, &found)
            #expect(found.all.isEmpty, "\(found.all)")
        }
    }
}
