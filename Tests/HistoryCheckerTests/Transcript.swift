import HistoryChecker
import Vocabulary

/// A history of one wallet as text, played against the checker.
///
/// Steps are separated by commas; each is a millisecond after the one before it. The policy is the standard one:
/// four rounds of four, with blocks of one minute, five minutes and one hour.
///
///     a wrong@1              sends operation a: right, wrong, change or open; @1 is the PIN key's generation, else 0
///     b right again a        sends the attempt id of a once more
///     a = wrong 3! #2        a's response: three attempts left in the final round; receipt number 2
///     a = wrong 3 #2/5       the same in epoch 5
///     a = wrong block 60 #4  the verdict that begins a block of 60 s; `wrong end` begins the permanent block
///     a = repeat 3 #2        the verdict of a repeated attempt, which is not judged
///     a = valid #3 · a = foreign · a = blocked 50 #4 · a = ended #16 · a = refused · a = revoked · a = key @1
///     a = opened 4 @0 · a = opened block 50 @0 · a = opened end @0
///     a lost · crash · revoke · +60
struct Transcript {
    private var history = WalletHistory(CheckerRules(policy: .standard, clockTolerance: .milliseconds(10)))
    private var now = Timestamp(milliseconds: 1_800_000_000_000)
    private var ids: [String: Int] = [:]
    private var inFlight: [String] = []

    struct Unreadable: Error {
        let step: String
    }

    /// Returns the violations of a transcript.
    static func violations(in text: String) throws -> [HistoryViolation] {
        var transcript = Transcript()
        var found: [HistoryViolation] = []
        for step in text.split(separator: ",") {
            transcript.now = transcript.now + .milliseconds(1)
            let words = step.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            found += try transcript.play(words)
        }
        return found
    }

    private mutating func play(_ words: [String]) throws -> [HistoryViolation] {
        if words == ["crash"] {
            let found = self.inFlight.compactMap { self.history.lose(self.ids[$0] ?? 0, at: self.now) }
            self.inFlight = []
            self.history.serverEnded(by: self.now)
            return found
        }
        if words == ["revoke"] {
            self.history.revocationReturned()
            return []
        }
        if words.count == 1, words[0].hasPrefix("+"), let seconds = Int(words[0].dropFirst()) {
            self.now = self.now + .seconds(seconds)
            return []
        }
        let name = words[0]
        if words.count == 2, words[1] == "lost" {
            self.inFlight.removeAll { $0 == name }
            return self.history.lose(self.ids[name] ?? 0, at: self.now).map { [$0] } ?? []
        }
        if words.count > 2, words[1] == "=" {
            self.inFlight.removeAll { $0 == name }
            let response = try Self.response(Array(words[2...]))
            return self.history.complete(self.ids[name] ?? 0, response, at: self.now).map { [$0] } ?? []
        }
        let id = self.ids.count + 1
        self.ids[name] = id
        self.inFlight.append(name)
        let first = words.count == 4 && words[2] == "again" ? self.ids[words[3]] : nil
        self.history.invoke(id, try Self.operation(words[1]), repeating: first, at: self.now)
        return []
    }

    private static func operation(_ word: String) throws -> WalletOperation {
        let parts = word.split(separator: "@")
        let generation = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        switch parts[0] {
        case "right": return .check(isRight: true, generation: generation)
        case "wrong": return .check(isRight: false, generation: generation)
        case "change": return .change(isRight: true, generation: generation, to: generation + 1)
        case "open": return .opening
        default: throw Unreadable(step: word)
        }
    }

    private static func response(_ words: [String]) throws -> WalletResponse {
        var place: VerdictPlace?
        var generation = 0
        var plain: [String] = []
        for word in words {
            let rest = word.dropFirst()
            if word.hasPrefix("#") {
                let numbers = rest.split(separator: "/").compactMap { UInt64($0) }
                let isJudged = words[0] == "valid" || words[0] == "wrong"
                place = VerdictPlace(epoch: numbers.count > 1 ? numbers[1] : 1, number: numbers[0], isJudged: isJudged)
            } else if word.hasPrefix("@") {
                generation = Int(rest) ?? 0
            } else {
                plain.append(word)
            }
        }
        let state = Self.state(Array(plain.dropFirst()))
        switch (plain[0], state) {
        case ("valid", nil): return .verdict(.valid, place)
        case ("wrong", let state?), ("repeat", let state?): return .verdict(.wrong(state), place)
        case ("opened", let state?): return .opened(state, generation: generation)
        case ("blocked", _) where plain.count == 2:
            return .verdict(.blocked(remaining: .seconds(Int(plain[1]) ?? 0)), place)
        case ("ended", nil): return .verdict(.blockedPermanently, place)
        case ("foreign", nil): return .validWithForeignShare
        case ("refused", nil): return .refused
        case ("revoked", nil): return .revoked
        case ("key", nil): return .pinKeyChanged(current: generation)
        default: throw Unreadable(step: words.joined(separator: " "))
        }
    }

    private static func state(_ words: [String]) -> PINState? {
        if words == ["end"] { return .blockedPermanently }
        if words.count == 2, words[0] == "block", let seconds = Int(words[1]) {
            return .blocked(remaining: .seconds(seconds))
        }
        guard words.count == 1, let left = Int(words[0].filter(\.isNumber)) else { return nil }
        return .open(attemptsLeft: left, finalRound: words[0].hasSuffix("!"))
    }
}
