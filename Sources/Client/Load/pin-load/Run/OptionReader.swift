internal import LoadPlan
internal import ConfigText

/// Reads options one after the other and gathers what is wrong with them.
struct OptionReader {
    var problems: [PlanProblem] = []

    mutating func complain(_ option: String, _ text: String) {
        self.problems.append(PlanProblem(place: option, text))
    }

    /// Reads an option that was given, and hands its value on.
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
            throw PlanProblem(place: option, "`\(text)` is not a time, as 500ms, 30s or 5m")
        }
        return time
    }

    static func count(_ text: String, _ option: String) throws(PlanProblem) -> Int {
        guard let count = CountText.readCount(text) else {
            throw PlanProblem(place: option, "`\(text)` is not a number, as 100 or 10k")
        }
        return count
    }

    static func rate(_ text: String, _ option: String) throws(PlanProblem) -> Double {
        let digits = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let rate = CountText.readNumber(digits) else {
            throw PlanProblem(place: option, "`\(text)` is not a rate, as 500, 2.5k or 500/s")
        }
        return rate
    }
}
