import Testing
import Vocabulary

@Suite("Points in time")
struct TimestampTests {
    @Test("differences and sums agree, to the millisecond")
    func arithmetic() {
        let time = Timestamp(milliseconds: 1_700_000_000_000)
        #expect((time + .seconds(61)) - time == .seconds(61))
        #expect((time + .microseconds(1_999)) - time == .milliseconds(1))
    }

    @Test("a sum beyond the last point in time is clamped to it")
    func overflow() {
        #expect(Timestamp(milliseconds: .max) + .seconds(1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: .min) + .seconds(-1) == Timestamp(milliseconds: .min))
    }
}

@Suite("Bundle versions")
struct BundleVersionTests {
    @Test(
        "numbers are compared, and missing ones count as 0",
        arguments: [
            ("1", "1", false), ("1", "2", true), ("9", "10", true), ("1.9", "1.10", true), ("1.4", "1.4.0", false),
            ("1", "1.0.1", true), ("2", "1.9.9", false), ("0", "0.0", false), ("1314", "202611280615", true),
        ]
    )
    func order(left: String, right: String, isLess: Bool) throws {
        let (left, right) = (try #require(BundleVersion(left)), try #require(BundleVersion(right)))
        #expect((left < right) == isLess)
        #expect((left == right) == (!isLess && !(right < left)))
    }

    @Test(
        "any other text is no bundle version",
        arguments: ["", ".", "1.", ".1", "1..2", "1.2.3.4.5", "1a", "-1", "+1", " 1", "٣", "1234567890123456789"]
    )
    func others(text: String) { #expect(BundleVersion(text) == nil) }
}

@Suite("The policy of attempts")
struct AttemptPolicyTests {
    @Test(
        "numbers outside their ranges make no policy",
        arguments: [(0, 4, 0), (17, 4, 0), (4, 0, 0), (4, 17, 0), (4, 4, 4), (1, 1, 1)]
    )
    func ranges(rounds: Int, attempts: Int, blocks: Int) {
        let blocks = [Duration](repeating: .seconds(60), count: blocks)
        #expect(AttemptPolicy(rounds: rounds, attemptsPerRound: attempts, blocks: blocks) == nil)
    }

    @Test(
        "a block is neither negative nor longer than 31 days",
        arguments: [Duration.seconds(-1), .seconds(31 * 86_400 + 1)]
    )
    func blocks(block: Duration) {
        #expect(AttemptPolicy(rounds: 2, attemptsPerRound: 1, blocks: [block]) == nil)
    }

    @Test("the standard policy allows sixteen wrong PINs")
    func standard() {
        #expect(AttemptPolicy.standard.allowance == 16)
    }
}

@Suite("Versions of the app")
struct AppVersionTests {
    @Test("versions compare number by number, missing ones as 0")
    func order() throws {
        let sorted = try ["0.9", "1", "1.0.1", "1.2", "1.10", "2.0.0.1"].map { try #require(AppVersion($0)) }
        #expect(sorted.sorted() == sorted)
        #expect(AppVersion("1") == AppVersion("1.0.0"))
    }

    @Test(
        "any other text is not a version",
        arguments: ["", ".", "1.", "1..2", "1.2.3.4.5", "v1", "-1", "1.0000000", "١"]
    )
    func refused(text: String) {
        #expect(AppVersion(text) == nil)
    }
}

@Suite("Text from a device")
struct DeviceTextTests {
    @Test("only short printable ASCII is accepted", arguments: ["", "a\nb", "é", String(repeating: "a", count: 65)])
    func refused(text: String) {
        #expect(DeviceText(text) == nil)
    }
}
