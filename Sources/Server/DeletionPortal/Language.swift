/// A language that the page is available in.
enum Language: String, CaseIterable {
    case english = "en"
    case dutch = "nl"

    /// Chooses the language preferred by Accept-Language (RFC 9110 §12.5.4), or English if no supported language is
    /// listed.
    init(accepting field: String?) {
        var best: (language: Language, weight: Double)?
        // Limits the work for a long header. Real headers have fewer ranges.
        for range in (field ?? "").split(separator: ",").prefix(32) {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let tag = parts.first?.split(separator: "-").first,
                let language = Language(rawValue: String(tag))
            else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            guard weight > 0, weight > best?.weight ?? 0 else { continue }
            best = (language, weight)
        }
        self = best?.language ?? .english
    }

    /// The path of the page in this language.
    var path: String { "/\(self.rawValue)" }

    /// The name of the language in the language itself.
    var name: String {
        switch self {
        case .english: "English"
        case .dutch: "Nederlands"
        }
    }

    var words: PortalStrings {
        switch self {
        case .english: .english
        case .dutch: .dutch
        }
    }
}
