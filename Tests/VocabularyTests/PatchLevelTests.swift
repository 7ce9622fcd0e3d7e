import Testing
import Vocabulary

@Suite("Android patch levels")
struct PatchLevelTests {
    @Test(
        "a number is a month, or a day if it has eight digits; 00 is an unknown day",
        arguments: [
            (202_506, "2025-06"), (20_250_605, "2025-06-05"), (20_190_700, "2019-07"), (20_240_229, "2024-02-29"),
            (20_000_229, "2000-02-29"),
        ]
    )
    func stated(number: Int, text: String) throws {
        let level = try #require(PatchLevel(stated: number))
        #expect(level.description == text)
        #expect(PatchLevel(text) == level)
    }

    @Test(
        "a number that is not a date is no level",
        arguments: [
            0, -1, 1, -202_506, -20_250_605, 2025, 202_500, 202_613, 199_912, 300_001, 2_025_060, 20_269_900,
            20_261_305, 20_250_632, 20_250_229, 21_000_229, 20_250_431, 99_999_999, 202_506_051, 2_147_483_647, .max,
            .min,
        ]
    )
    func notStated(number: Int) { #expect(PatchLevel(stated: number) == nil) }

    @Test(
        "a text that is not a date is no level",
        arguments: [
            "", "2025", "2025-6", "2025-13", "2025-00", "2025-06-00", "2025-06-31", "2025-02-29", "25-06-01",
            "2025-06-", "2025-06-05-01", "-025-06", "+025-06", "２０２５-06", "1999-12", "202506",
        ]
    )
    func notText(text: String) { #expect(PatchLevel(text) == nil) }

    @Test(
        "a month counts as its first day",
        arguments: [
            ("2025-06-05", "2025-06-05", true), ("2025-06-05", "2025-06-01", true), ("2025-06-04", "2025-06-05", false),
            ("2025-06", "2025-06", true), ("2025-06", "2025-06-01", true), ("2025-06", "2025-06-02", false),
            ("2025-06-01", "2025-06", true), ("2025-07", "2025-06-30", true), ("2025-05-31", "2025-06", false),
            ("2026-01", "2025-12-31", true), ("2015-01-01", "2025-01", false),
        ]
    )
    func comparison(level: String, minimum: String, isReached: Bool) throws {
        let (level, minimum) = (try #require(PatchLevel(level)), try #require(PatchLevel(minimum)))
        #expect(level.isAtLeast(minimum) == isReached)
    }
}
