import LoadReport
import Testing

@Suite("JSON with numbers out of range")
struct DamagedNumbersTests {
    @Test(
        "a number that no run can have is malformed and not summed",
        arguments: [
            ("\"unsent\":0", "\"unsent\":9223372036854775807"), ("\"unsent\":0", "\"unsent\":-1"),
            ("\"valid\":", "\"failed:other\":9223372036854775807,\"valid\":"),
            ("\"unexpected\":0", "\"unexpected\":9223372036854775807"),
            ("\"violations\":{\"count\":0", "\"violations\":{\"count\":9223372036854775807"),
            ("\"connections\":64", "\"connections\":9223372036854775807"),
            ("\"endMicros\":", "\"endMicros\":9000000000"), ("\"startMicros\":", "\"startMicros\":-1"),
            ("\"plannedRate\":400", "\"plannedRate\":1e99"),
        ]
    )
    func numbers(good: String, bad: String) throws {
        let text = SampleRun.plain.text(as: .json)
        let damaged = text.replacing(good, with: bad)
        try #require(damaged != text)
        #expect(throws: RunResultError.malformed(field: "intervals")) { try RunResult(json: Array(damaged.utf8)) }
    }

    @Test("a rate above the range of integers is written as the largest one")
    func hugeRate() {
        #expect(NumberText.rate(1e30) == "9,223,372,036,854,775,807/s")
    }
}
