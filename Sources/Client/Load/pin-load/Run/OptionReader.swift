import ArgumentParser
internal import ConfigText
internal import LoadEngine

/// Parses options one by one and collects all mistakes.
struct OptionReader {
    var problems: [PlanProblem] = []

    mutating func complain(_ option: String, _ text: String) {
        self.problems.append(PlanProblem(place: option, text))
    }

    /// Parses an option, if given, and passes its value to `take`.
    mutating func read<Value>(
        _ option: String,
        _ text: String?,
        _ parse: (String, String) throws(PlanProblem) -> Value,
        _ take: (Value) -> Void
    ) {
        guard let text else { return }
        do throws(PlanProblem) {
            take(try parse(text, option))
        } catch {
            self.problems.append(error)
        }
    }

    static func time(_ text: String, _ option: String) throws(PlanProblem) -> Duration {
        guard let time = DurationText.read(text) else {
            throw PlanProblem(place: option, "`\(text)` is not a time; write it as 500ms, 30s or 5m")
        }
        return time
    }

    static func count(_ text: String, _ option: String) throws(PlanProblem) -> Int {
        guard let count = CountText.readCount(text) else {
            throw PlanProblem(place: option, "`\(text)` is not a whole number; write it as 100 or 10k")
        }
        return count
    }

    static func rate(_ text: String, _ option: String) throws(PlanProblem) -> Double {
        let digits = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let rate = CountText.readNumber(digits) else {
            throw PlanProblem(place: option, "`\(text)` is not a rate; write it as 500, 2.5k or 500/s")
        }
        return rate
    }
}

/// Parses options whose mistakes are reported by ArgumentParser.
enum OptionText {
    static func time(_ text: String) throws -> Duration {
        guard let time = DurationText.read(text), time > .zero else {
            throw ValidationError("a time is a number above 0 with a unit: 500ms, 10s or 2m")
        }
        return time
    }

    static func count(_ text: String) throws -> Int {
        guard let count = CountText.readCount(text) else {
            throw ValidationError("a count is a whole number: 2000, 10k or 1M")
        }
        return count
    }

    static func rate(_ text: String) throws -> Double {
        guard let rate = try? OptionReader.rate(text, "") else {
            throw ValidationError("a rate is a number per second: 500, 2.5k or 500/s")
        }
        return rate
    }
}
