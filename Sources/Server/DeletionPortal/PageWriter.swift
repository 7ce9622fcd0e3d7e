internal import Crypto
internal import Foundation
internal import Mustache
internal import Vocabulary

/// Writes pages as HTML.
struct PageWriter: Sendable {
    /// The seals for the forms on a page.
    struct Seals {
        /// The seal for the form with the code field.
        var check = ""
        /// The seal for the confirmation.
        var delete = ""
    }

    /// Escapes values in double braces; only the style sheet, which is constant, is inserted unchanged.
    private let template: MustacheTemplate
    private let product: String
    private let zone: TimeZone
    private let helpLink: String?

    init(product: String, zone: TimeZone, helpLink: String?) throws {
        self.template = try MustacheTemplate(string: String(decoding: PackageResources.page_mustache, as: UTF8.self))
        self.product = product
        self.zone = zone
        self.helpLink = helpLink
    }

    /// Writes a page in a language.
    func html(_ page: PortalPage, in language: Language, seals: Seals, now: Timestamp) -> String {
        let words = self.named(language.words)
        var values: [String: Any] = [
            "language": language.rawValue, "path": language.path, "product": self.product, "style": Style.sheet,
            "words": words,
            "languages": Language.allCases.map { self.switching(to: $0, from: language, page, seals) },
        ]
        if let helpLink { values["helpLink"] = helpLink }
        let (heading, isError) = self.content(of: page, in: language, seals: seals, now: now, &values)
        let title = heading == words["title"] as? String ? heading : "\(heading) – \(self.product)"
        values["title"] = isError ? "\(language.words.errorPrefix): \(title)" : title
        values["heading"] = heading
        return self.template.render(values)
    }

    private func switching(
        to other: Language,
        from language: Language,
        _ page: PortalPage,
        _ seals: Seals
    ) -> [String: Any] {
        var values: [String: Any] = ["path": other.path, "code": other.rawValue, "name": other.name]
        let step = other == language ? nil : page.stepToItself
        values["isCurrent"] = other == language
        values["isLink"] = other != language && step == nil
        values["isButton"] = step != nil
        if let step {
            values["typed"] = page.typed
            values["step"] = step.rawValue
            values["seal"] = step == .delete ? seals.delete : seals.check
        }
        return values
    }

    /// Adds the values for a page.
    ///
    /// Returns its heading and whether the user must correct the input.
    private func content(
        of page: PortalPage,
        in language: Language,
        seals: Seals,
        now: Timestamp,
        _ values: inout [String: Any]
    ) -> (heading: String, isError: Bool) {
        let words = language.words
        var part: [String: Any] = ["typed": page.typed ?? "", "seal": seals.delete, "isRetry": page.typed != nil]
        var heading = words.title
        var (name, isError) = ("trouble", false)
        switch page {
        case .form(_, let problem):
            name = "form"
            part["seal"] = seals.check
            part["focus"] = problem != nil
            isError = problem == .missing || problem == .wrong
            switch problem {
            case .missing: part["error"] = words.missing
            case .wrong: part["error"] = words.wrong
            case .stale: part["notice"] = words.stale
            case nil: break
            }
        case .question: (name, heading) = ("question", words.question)
        case .done(_, let at):
            (name, heading) = ("done", words.done)
            self.tell(at, withDate: true, in: language, &part)
        case .limited(let until):
            (heading, part["text"]) = (words.limited, words.limitedWhy)
            self.tell(until, withDate: false, in: language, &part)
            part["wait"] = words.minutes(max(1, Int((until - now).milliseconds.dividedRoundingUp(by: 60_000))))
        case .busy: (heading, part["text"]) = (words.busy, words.busyWhy)
        case .away: (heading, part["text"]) = (words.away, words.awayWhy)
        case .unknown: (heading, part["text"]) = (words.unknown, words.unknownWhy)
        case .refused: (heading, part["text"], part["isEnd"]) = (words.refused, words.refusedWhy, true)
        case .tooLong: (heading, part["text"], part["isEnd"]) = (words.refused, words.tooLongWhy, true)
        case .notFound: (heading, part["text"], part["isEnd"]) = (words.notFound, words.notFoundWhy, true)
        }
        values[name] = part
        return (self.named(heading), isError)
    }

    /// Adds a time in human-readable and machine-readable form, along with the name of its time zone.
    private func tell(_ time: Timestamp, withDate: Bool, in language: Language, _ part: inout [String: Any]) {
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
        let locale = Locale(identifier: language == .dutch ? "nl_NL" : "en_GB")
        let style = Date.FormatStyle(
            date: withDate ? .long : .omitted,
            time: .shortened,
            locale: locale,
            timeZone: self.zone
        )
        let isSummer = self.zone.isDaylightSavingTime(for: date)
        let zone = self.zone.localizedName(for: isSummer ? .daylightSaving : .standard, locale: locale)
        part["when"] = date.formatted(style)
        part["timestamp"] = date.formatted(.iso8601)
        part["zone"] = zone ?? self.zone.identifier
    }

    private func named(_ text: String) -> String { text.replacing("{product}", with: self.product) }

    /// Returns the texts by the names used in the template.
    private func named(_ words: PortalStrings) -> [String: Any] {
        var named: [String: Any] = [:]
        for (label, value) in Mirror(reflecting: words).children {
            guard let label else { continue }
            switch value {
            case let text as String: named[label] = self.named(text)
            case let texts as [String]: named[label] = texts.map(self.named)
            default: break
            }
        }
        return named
    }
}

/// The page's only style sheet.
///
/// It is inline and allowed by the content security policy through its hash.
enum Style {
    /// The file, in which a line that begins with spaces continues the one before.
    static let sheet =
        String(decoding: PackageResources.style_css.dropLast(), as: UTF8.self).replacing("\n  ", with: "")

    /// The source expression for the style sheet in the content security policy.
    static let source = "'sha256-\(Data(SHA256.hash(data: Data(Self.sheet.utf8))).base64EncodedString())'"
}

/// The contents of a page.
enum PortalPage: Hashable {
    /// The form with the code field, which contains the text entered before.
    case form(typed: String, problem: Problem?)
    /// The question of whether to delete the wallet.
    case question(typed: String)
    /// The wallet was deleted, now or earlier.
    case done(typed: String, at: Timestamp)
    /// Too many wrong codes were entered.
    case limited(until: Timestamp)
    /// The server's own limit was reached.
    case busy(typed: String)
    /// The server cannot be reached, and nothing was done.
    case away(typed: String)
    /// The server received the request but did not answer.
    case unknown(typed: String)
    /// The request was not sent by a page of the portal.
    case refused
    /// The form is longer than any form on the portal's pages.
    case tooLong
    case notFound

    /// The reason the form is shown again.
    enum Problem: Hashable {
        /// The field was empty.
        case missing
        /// The code is wrong.
        ///
        /// The page does not say why.
        case wrong
        /// The form's seal has expired or is invalid.
        case stale
    }

    /// The text that was entered, if the page shows it again or needs it for the next step.
    var typed: String? {
        switch self {
        case .form(let typed, _), .question(let typed), .done(let typed, _), .busy(let typed), .away(let typed),
            .unknown(let typed):
            typed.isEmpty ? nil : typed
        case .limited, .refused, .tooLong, .notFound: nil
        }
    }

    /// The step that shows the same page in another language, or nil if a link is sufficient.
    var stepToItself: Portal.Step? {
        guard self.typed != nil else { return nil }
        return switch self {
        case .question: .check
        case .done: .delete
        case .form, .busy, .away, .unknown: .back
        case .limited, .refused, .tooLong, .notFound: nil
        }
    }
}
