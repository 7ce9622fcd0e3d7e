import Testing
import Vocabulary

@Suite("Rules of the update policy")
struct UpdateRuleTests {
    private static let now = Timestamp(milliseconds: 1_000_000)

    @Test(
        "a range contains its lowest version and not its upper bound",
        arguments: [
            ("1.2", "1.4", "1.2", true), ("1.2", "1.4", "1.2.0.0", true), ("1.2", "1.4", "1.3.999999", true),
            ("1.2", "1.4", "1.4", false), ("1.2", "1.4", "1.1.9", false), (nil, "1.4", "0", true),
            (nil, "1.4", "1.4.0.1", false), ("1.2", nil, "999999", true), ("1.2", nil, "1.1", false),
            (nil, nil, "0", true),
        ] as [(String?, String?, String, Bool)]
    )
    func range(from: String?, below: String?, version: String, fits: Bool) throws {
        let rule = try #require(
            UpdateRule(from: from.flatMap { AppVersion($0) }, below: below.flatMap { AppVersion($0) }, .notify)
        )
        #expect(rule.fits(try #require(AppVersion(version))) == fits)
    }

    @Test("a range without versions is invalid", arguments: [("2", "1.9"), ("2", "2.0.0"), (nil, "0.0"), ("0", "0")])
    func empty(from: String?, below: String) {
        #expect(UpdateRule(from: from.flatMap { AppVersion($0) }, below: AppVersion(below), .ok) == nil)
    }

    @Test("a warning states the time left, and becomes a block at its time")
    func warning() throws {
        let rule = try #require(UpdateRule(.warn(until: Self.now + .milliseconds(1))))
        #expect(rule.verdict(at: Self.now) == .warn(blockedIn: .milliseconds(1)))
        #expect(rule.verdict(at: Self.now + .milliseconds(1)) == .block(updateAvailable: true))
        #expect(rule.verdict(at: Self.now + .seconds(86_400)) == .block(updateAvailable: true))
    }

    @Test("every other word is passed on unchanged")
    func words() throws {
        let words: [(UpdateRule.Word, UpdateVerdict)] = [
            (.ok, .ok), (.notify, .notify), (.recommend, .recommend),
            (.block(updateAvailable: true), .block(updateAvailable: true)),
            (.block(updateAvailable: false), .block(updateAvailable: false)),
        ]
        for (word, verdict) in words { #expect(try #require(UpdateRule(word)).verdict(at: Self.now) == verdict) }
    }
}
