internal import Foundation
internal import Vocabulary

/// Searches a server's output for secrets, in every form in which one could have been written.
///
/// It knows some secrets exactly, and recognizes others by their form: keys and shares are 32 random bytes and
/// evidence is long, so a long run of random-looking digits should not occur.
package struct SecretScanner: Sendable {
    private struct Known: Sendable {
        let name: String
        let form: String
        let bytes: [UInt8]
    }

    private var known: [Known] = []
    private var words: [String: String] = [:]
    /// Fields whose values may be long: marks of the audit log and signed roots, which operators must keep, and files.
    private let longFields: Set<String>
    private static let longestHexadecimal = 40
    private static let longestBase64 = 40

    package init(longFields: Set<String> = ["newest", "signedRoot", "file", "address", "attested"]) {
        self.longFields = longFields
    }

    /// Adds a key, a share or evidence: at least 8 bytes.
    package mutating func add(_ name: String, _ bytes: [UInt8]) {
        precondition(bytes.count >= 8, "a shorter secret would be found by chance")
        self.known.append(Known(name: name, form: "raw", bytes: bytes))
        let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.known.append(Known(name: name, form: "hexadecimal", bytes: Array(digits.utf8)))
        self.known.append(Known(name: name, form: "hexadecimal", bytes: Array(digits.uppercased().utf8)))
        self.known.append(Known(name: name, form: "numbers", bytes: Array("\(bytes)".dropFirst().dropLast().utf8)))
        for text in Self.base64(bytes) {
            self.known.append(Known(name: name, form: "base64", bytes: Array(text.utf8)))
            let other = text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
            self.known.append(Known(name: name, form: "base64", bytes: Array(String(other).utf8)))
        }
    }

    /// Adds a PIN or a code, which is found as a separate word.
    package mutating func add(_ name: String, word: String) {
        self.words[word] = name
        // As bytes, a short word would be found within other numbers.
        if word.utf8.count >= 8 { self.add(name, Array(word.utf8)) }
        let digits = word.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.known.append(Known(name: name, form: "hexadecimal", bytes: Array(digits.utf8)))
        self.known.append(Known(name: name, form: "numbers", bytes: Array("\(Array(word.utf8))".utf8)))
        let text = Data(word.utf8).base64EncodedString()
        self.words[String(text.prefix { $0 != "=" })] = name
    }

    /// The base64 characters that do not depend on the position of the bytes in a longer value.
    private static func base64(_ bytes: [UInt8]) -> [String] {
        (0..<3).map { offset in
            let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            let first = offset == 0 ? 0 : offset + 1
            let spoiled = text.hasSuffix("==") ? 3 : text.hasSuffix("=") ? 2 : 0
            return String(text.dropFirst(first).dropLast(spoiled))
        }
    }

    /// The findings in any text, one sentence each.
    package func findings(in text: String) -> [String] {
        let data = Data(text.utf8)
        var findings = self.known.filter { data.range(of: Data($0.bytes)) != nil }.map { "\($0.name) as \($0.form)" }
        // A period belongs to a number, unless it ends a sentence.
        let isPart: (Character) -> Bool = { $0.isLetter || $0.isNumber || $0 == "." }
        for part in text.split(whereSeparator: { !isPart($0) }) {
            let word = part.drop { $0 == "." }.reversed().drop { $0 == "." }.reversed()
            if let name = self.words[String(word)] { findings.append("\(name) as a word") }
        }
        return findings
    }

    /// The findings in lines of JSON, one object each: known secrets, and values that look like one.
    ///
    /// A process that was killed may leave a last line without an end, which is searched for known secrets only.
    package func findings(inLines text: String) -> [String] {
        var findings = self.findings(in: text)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        for line in lines where !line.isEmpty {
            guard let fields = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: String] else {
                findings.append("a line that is not a JSON object: \(line.prefix(80))")
                continue
            }
            for (field, value) in fields {
                if Self.isCode(value) { findings.append("a possible deletion code in `\(field)`: \(value)") }
                guard !self.longFields.contains(field) else { continue }
                // A path in it can be as long as a key.
                let folder = FileManager.default.temporaryDirectory.path
                if let run = Self.suspiciousRun(in: value.replacing(folder, with: "")) {
                    findings.append("a possible key in `\(field)` of `\(fields["message"] ?? "")`: \(run)")
                }
            }
        }
        return findings
    }

    /// Returns true if a word has the form of a deletion code.
    private static func isCode(_ text: String) -> Bool {
        text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "-" }).contains { word in
            let isOneCase = word == word.uppercased() && word.contains(where: \.isLetter)
            return isOneCase && word.utf8.count >= DeletionCode.length && DeletionCode(String(word)) != nil
        }
    }

    /// A run as long as a key in hexadecimal or base64, or a list of as many numbers.
    private static func suspiciousRun(in text: String) -> Substring? {
        func runs(of isPart: (Character) -> Bool) -> [Substring] { text.split(whereSeparator: { !isPart($0) }) }
        let digits = runs { $0.isHexDigit }.first { $0.count >= Self.longestHexadecimal }
        let random = runs { $0.isASCII && ($0.isLetter || $0.isNumber || "+/_-=".contains($0)) }
            .first { $0.count >= Self.longestBase64 }
        let list = runs { $0.isNumber || $0 == "," || $0 == " " }.first { list in list.count { $0 == "," } >= 15 }
        return digits ?? random ?? list
    }
}
