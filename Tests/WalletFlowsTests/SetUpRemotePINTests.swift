import Testing
import Vocabulary

@testable import WalletFlows

@Suite("UC2.1 Set up a remote PIN, PF2.9 Set up PIN")
struct SetUpRemotePINTests {
    @Test("a setup chooses, repeats, enrolls, confirms and shows the deletion code until it is written down")
    func wholeSetup() {
        var app = AppUnderTest()
        app.launchToChoosing()
        #expect(app.state == .shows("PF2.9/1.1"))
        #expect(app.enter("024791") == .shows("PF2.9/1.3"))
        #expect(app.enter("024791") == .asks(.enroll(app.entry(1))))
        app.snapshot.deletionCode = DeletionCode("0123456789ABCDEFGH")
        #expect(app.enrolled() == .shows("UC2.1/1.5"))
        #expect(app.screen?.message == "Your NL Wallet is secured")
        #expect(app.tap(.next) == .asks(.keepProgress(.secured)))
        #expect(app.answer(.progressKept) == .shows("UC2.1/1.6"))
        #expect(app.screen?.values["deletionCode"] == .text("0123-4567-89AB-CDEF-GH"))
        #expect(app.tap(.writtenDown) == .asks(.keepProgress(.done)))
        #expect(app.answer(.progressKept) == .shows("UC3.1/1.1"))
        #expect(
            app.trace.suffix(13)
                == [
                    "PF2.9/1.1", "PF2.9/1.1a", "PF2.9/1.2a", "PF2.9/1.3", "PF2.9/1.3a", "PF2.9/1.4a", "PF2.9/1.5a",
                    "UC2.1/1.1a", "UC2.1/1.2b", "UC2.1/1.5", "UC2.1/1.5a", "UC2.1/1.6", "UC2.1/1.6a", "UC3.1/1.1",
                ].suffix(13)
        )
    }

    @Test("without the deletion code feature the setup follows the earlier founding document")
    func withoutCode() {
        var app = AppUnderTest()
        app.launchToChoosing()
        app.enter("024791")
        app.enter("024791")
        app.enrolled()
        app.tap(.next)
        #expect(app.answer(.progressKept) == .asks(.keepProgress(.done)))
        #expect(app.answer(.progressKept) == .shows("UC3.1/1.1"))
        #expect(!app.trace.contains("UC2.1/1.6"))
    }

    @Test(
        "after a crash the next launch continues at the unfinished step",
        arguments: [(SetupProgress.registered, "UC2.1/1.5"), (.secured, "UC2.1/1.6"), (.done, "UC3.1/1.1")]
    )
    func afterCrash(_ expected: (SetupProgress, String)) {
        var app = AppUnderTest(setup: expected.0)
        app.snapshot.deletionCode = DeletionCode("0123456789ABCDEFGH")
        app.launchToPIN()
        app.unlock()
        #expect(app.state == .shows(StepID(expected.1)))
    }

    @Test(
        "a PIN that is too simple is rejected with the rule that it breaks",
        arguments: [
            ("111111", PINRule.differentDigits), ("123456", .notAscending), ("654321", .notDescending),
            ("12345", .sixCharacters), ("1234567", .sixCharacters), ("12a456", .digitsOnly), ("", .sixCharacters),
        ]
    )
    func tooSimple(_ expected: (String, PINRule)) {
        var app = AppUnderTest()
        app.launchToChoosing()
        #expect(app.enter(expected.0) == .shows("PF2.9/2.1"))
        #expect(app.screen?.values["rule"] == .text(expected.1.rawValue))
        #expect(app.tap(.ok) == .shows("PF2.9/1.1"))
    }

    @Test("PINs that only look simple are accepted", arguments: ["024791", "010101", "000001", "121212"])
    func allowed(pin: String) {
        var app = AppUnderTest()
        app.launchToChoosing()
        #expect(app.enter(pin) == .shows("PF2.9/1.3"))
    }

    @Test("a different repetition can be tried once more, then the choice starts over")
    func different() {
        var app = AppUnderTest()
        app.launchToChoosing()
        app.enter("024791")
        #expect(app.enter("024792") == .shows("PF2.9/3.1"))
        #expect(app.tap(.tryAgain) == .shows("PF2.9/1.3"))
        #expect(app.enter("024792") == .shows("PF2.9/4.1"))
        #expect(app.tap(.startOver) == .shows("PF2.9/1.1"))
        app.enter("024791")
        #expect(app.enter("024792") == .shows("PF2.9/3.1"))
    }

    @Test("Retry after an error enrolls with the same entry of the PIN")
    func retry() {
        var app = AppUnderTest()
        app.launchToChoosing()
        app.enter("024791")
        app.enter("024791")
        guard case .some(.ask(.enroll(let first))) = app.last else { return }
        #expect(app.answer(.failed(.serverUnreachable(notCounted: false))) == .shows("PF2.9/1.5d"))
        #expect(app.tap(.retry) == .asks(.enroll(app.entry(1))))
        guard case .some(.ask(.enroll(let second))) = app.last else { return }
        #expect(first === second)
    }

    @Test("a rejected attestation ends the setup with device-insecure")
    func attestationRefused() {
        var app = AppUnderTest()
        app.launchToChoosing()
        app.enter("024791")
        app.enter("024791")
        #expect(app.answer(.failed(.deviceInsecure)) == .shows("PF2.9/1.5b"))
        #expect(app.screen?.actions.map(\.id) == [.close])
        #expect(app.tap(.close) == .shows("UC1.1/1.4"))
    }

    @Test("Back leads from choosing to the privacy considerations, and from repeating to choosing")
    func back() {
        var app = AppUnderTest()
        app.launchToChoosing()
        app.enter("024791")
        #expect(app.tap(.back) == .shows("PF2.9/1.1"))
        #expect(app.tap(.back) == .shows("UC1.1/1.4"))
    }
}
