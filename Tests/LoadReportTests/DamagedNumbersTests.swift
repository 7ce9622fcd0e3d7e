import LoadReport
import Testing

@Suite("A result whose numbers no run can have")
struct DamagedNumbersTests {
    @Test(
        "is malformed, and nothing is summed",
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

    @Test("a rate beyond every whole number is told all the same")
    func rate() {
        #expect(Figure.rate(1e30) == "9,223,372,036,854,775,807/s")
    }
}
