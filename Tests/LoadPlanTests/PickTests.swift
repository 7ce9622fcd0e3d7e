import LoadEngine
import Testing

@Suite("Picking and mixing")
struct PickTests {
    @Test(
        "ranks follow the Zipf distribution",
        arguments: [(0.5, 1000), (1.0, 1000), (1.1, 50), (2.0, 10), (3.0, 3), (1.0, 1)] as [(Double, Int)]
    )
    func zipf(exponent: Double, count: Int) throws {
        var generator = PlanGenerator(seed: 11)
        let picker = try WalletPicker(.zipf(exponent: exponent), among: count)
        let draws = 200_000
        var seen = [Int](repeating: 0, count: count)
        for _ in 0..<draws { seen[picker.next(using: &generator)] += 1 }
        let law = (1...count).map { Self.power(Double($0), exponent) }
        let whole = law.reduce(0, +)
        // Chi-squared over the ranks with an expected count of at least 20; the standard deviation is √(2 × the number
        // of ranks).
        let expected = law.map { $0 / whole * Double(draws) }
        let usual = expected.indices.filter { expected[$0] >= 20 }
        let chi = usual.reduce(0.0) {
            $0 + (Double(seen[$1]) - expected[$1]) * (Double(seen[$1]) - expected[$1]) / expected[$1]
        }
        let freedom = Double(max(1, usual.count - 1))
        #expect(chi < freedom + 5 * (2 * freedom).squareRoot(), "χ² \(chi) of \(freedom)")
    }

    /// x^−e for multiples of 0.1; doubles are accurate enough.
    private static func power(_ x: Double, _ exponent: Double) -> Double {
        var (result, whole) = (1.0, Int(exponent))
        while whole > 0 {
            result /= x
            whole -= 1
        }
        let rest = exponent - exponent.rounded(.down)
        if rest == 0.5 { return result / x.squareRoot() }
        return rest == 0 ? result : result / Self.tenth(x)
    }

    /// The tenth root, by Newton's method.
    private static func tenth(_ x: Double) -> Double {
        var root = 1.0
        for _ in 0..<200 {
            var power = 1.0
            for _ in 0..<9 { power *= root }
            root -= (root * power - x) / (10 * power)
        }
        return root
    }

    @Test("drawing from ten million wallets is as fast as from ten and reaches all parts")
    func many() throws {
        var generator = PlanGenerator(seed: 3)
        for pick in [Pick.uniform, .zipf(exponent: 0.8)] {
            let picker = try WalletPicker(pick, among: 10_000_000)
            var tenths = [Int](repeating: 0, count: 10)
            for _ in 0..<100_000 { tenths[picker.next(using: &generator) / 1_000_000] += 1 }
            #expect(tenths.allSatisfy { $0 > 1000 }, "\(pick): \(tenths)")
            if pick == .uniform { #expect(tenths.allSatisfy { abs($0 - 10_000) < 500 }, "\(tenths)") }
        }
    }

    @Test("only the single wallet is drawn, and it must exist")
    func single() throws {
        var generator = PlanGenerator(seed: 3)
        let picker = try WalletPicker(.single(index: 4), among: 5)
        #expect((0..<10).allSatisfy { _ in picker.next(using: &generator) == 4 })
        #expect(throws: PlanProblem.self) { try WalletPicker(.single(index: 5), among: 5) }
        #expect(throws: PlanProblem.self) { try WalletPicker(.uniform, among: 0) }
    }

    @Test("a pick is written as the text that it was read from", arguments: ["uniform", "zipf:1.1", "single:7"])
    func pickText(text: String) throws {
        #expect(try Pick(parsing: text).text == text)
    }

    @Test(
        "any other pick is rejected",
        arguments: ["", "zipf", "zipf:0", "zipf:-1", "zipf:11", "single:x", "single:1.5", "uniform:1", "random"]
    )
    func unknownPick(text: String) {
        #expect(throws: PlanProblem.self) { try Pick(parsing: text) }
    }

    @Test("actions follow their weights, for any sum of the weights")
    func mix() throws {
        let mix = try Mix(parsing: "right=90, wrong=10,change-pin=1,register=0.5")
        #expect(mix.text == "right=90,wrong=10,change-pin=1,register=0.5")
        var generator = PlanGenerator(seed: 5)
        var seen: [Action: Int] = [:]
        for _ in 0..<101_500 { seen[mix.draw(using: &generator), default: 0] += 1 }
        for (action, expected) in [(Action.right, 90_000), (.wrong, 10_000), (.changePIN, 1000), (.register, 500)] {
            let deviation = Double(expected).squareRoot()
            #expect(abs(Double(seen[action, default: 0] - expected)) < 5 * deviation, "\(action): \(seen)")
        }
    }

    @Test("an action without weight is never drawn")
    func noWeight() throws {
        let mix = try Mix(parsing: "right=0,wrong=1")
        var generator = PlanGenerator(seed: 5)
        #expect((0..<1000).allSatisfy { _ in mix.draw(using: &generator) == .wrong })
        #expect(!mix.contains(.right))
    }

    @Test(
        "an invalid mix is rejected with a hint",
        arguments: [
            ("", "is not NAME=WEIGHT"), ("right", "is not NAME=WEIGHT"), ("rigth=1", "did you mean `right`?"),
            ("right=-1", "is not NAME=WEIGHT"), ("right=0", "no choice has a weight"), ("right=1,right=2", "twice"),
            ("right=1,", "is not NAME=WEIGHT"),
        ]
    )
    func wrongMix(text: String, message: String) {
        let problem = #expect(throws: PlanProblem.self) { try Mix(parsing: text) }
        #expect(problem?.text.contains(message) == true, "\(problem?.text ?? "")")
    }

    @Test("think times are within their range")
    func think() throws {
        let range = try ThinkTime(parsing: "200ms..1s")
        var generator = PlanGenerator(seed: 5)
        let draws = (0..<1000).map { _ in range.draw(using: &generator) }
        #expect(draws.allSatisfy { $0 >= .milliseconds(200) && $0 <= .seconds(1) })
        #expect((draws.max() ?? .zero) - (draws.min() ?? .zero) > .milliseconds(700))
        #expect(range.text == "200ms..1s")
        #expect(try ThinkTime(parsing: "1s").draw(using: &generator) == .seconds(1))
        for text in ["", "1", "1s..", "1s..200ms", "1s..2s..3s"] {
            #expect(throws: PlanProblem.self) { try ThinkTime(parsing: text) }
        }
    }
}
