internal import HTTPTypes
internal import Logging
internal import Telemetry
internal import Metrics
internal import Transport
internal import Vocabulary

/// Answers requests to the portal, without network I/O.
///
///     form ──check──▶ question ──delete──▶ done
///       ▲                │ back       └──▶ form, with the same words for every wrong code
///       └────────────────┘
struct Portal: Sendable {
    /// The step requested by a form's button.
    enum Step: String {
        /// Asks for confirmation before deleting the wallet.
        case check
        /// Deletes the wallet.
        case delete
        /// Shows the form again.
        case back
    }

    /// A parsed request.
    struct Visit: Sendable {
        var method: HTTPRequest.Method
        var path: String
        var host: String?
        var headers: HTTPFields
        /// The source of the request, for limits.
        var source: PeerSource
        /// The body.
        ///
        /// Empty unless the request is a POST.
        var body: String = ""
    }

    /// An answer: a page, or just the status for a probe.
    struct Answer: Sendable {
        var status: HTTPResponse.Status
        var html: String?
        var language: Language?
        /// The time that the client should wait before retrying.
        var retryAfter: Duration?
    }

    private let pages: PageWriter
    private let limit: WrongCodeLimit
    private let service: any RevocationService
    private let clock: any WallClock
    private let log: Logger
    private let meters: PortalMeters
    /// Limits log lines that a client could otherwise cause with every request.
    private let refusalLines = LogRateLimiter(burst: 50, each: .seconds(10))
    private let absenceLines = LogRateLimiter(burst: 50, each: .seconds(10))
    private let wrongCodeLines = LogRateLimiter(burst: 50, each: .seconds(10))
    private let seal = FormSeal()

    init(
        pages: PageWriter,
        limit: WrongCodeLimit = WrongCodeLimit(),
        service: any RevocationService,
        clock: any WallClock,
        log: Logger,
        meters: PortalMeters
    ) {
        self.pages = pages
        self.limit = limit
        self.service = service
        self.clock = clock
        self.log = log
        self.meters = meters
    }

    /// Answers one request.
    func answer(_ visit: Visit) async -> Answer {
        let preferred = Language(accepting: visit.headers[.acceptLanguage])
        if visit.path == "/livez", visit.method != .post { return Answer(status: .ok) }
        guard visit.path == "/" || Language.allCases.contains(where: { $0.path == visit.path }) else {
            return self.show(.notFound, .notFound, to: visit, in: preferred)
        }
        let language = Language.allCases.first { $0.path == visit.path } ?? preferred
        guard visit.method == .post else { return self.show(.form(typed: "", problem: nil), to: visit, in: language) }
        let isForged = CrossSite.isForged(
            fetchSite: visit.headers.value(of: "sec-fetch-site"),
            origin: visit.headers[.origin],
            host: visit.host
        )
        guard !isForged else {
            self.tellRefusal("request from another site refused", of: visit)
            return self.show(.refused, .forbidden, to: visit, in: language)
        }
        guard visit.headers[.contentType]?.prefix(while: { $0 != ";" }).lowercased() == FormFields.mediaType else {
            return self.show(.refused, .unsupportedMediaType, to: visit, in: language)
        }
        guard let fields = FormFields(visit.body), let step = Step(rawValue: fields["step"]) else {
            return self.show(.refused, .badRequest, to: visit, in: language)
        }
        return await self.answer(step, TypedCode(fields["code"]), seal: fields["seal"], to: visit, in: language)
    }

    private func tellRefusal(_ line: Logger.Message, of visit: Visit) {
        guard let metadata = self.refusalLines.allow(["source": "\(visit.source)"]) else { return }
        self.log.info(line, metadata: metadata)
    }

    /// Answers a request with a body longer than any of the portal's forms.
    func answerToLongBody(_ visit: Visit) -> Answer {
        self.show(.tooLong, .contentTooLarge, to: visit, in: Language(accepting: visit.headers[.acceptLanguage]))
    }

    private func answer(
        _ step: Step,
        _ typed: TypedCode,
        seal: String,
        to visit: Visit,
        in language: Language
    ) async -> Answer {
        let now = self.clock.now()
        let isSealed =
            switch step {
            case .back: true
            case .check: self.seal.isGood(seal, .check, for: visit.source, at: now)
            case .delete: self.seal.isGood(seal, .delete, code: typed.shown, for: visit.source, at: now)
            }
        guard isSealed else {
            self.tellRefusal("form out of date", of: visit)
            return self.show(.form(typed: typed.shown, problem: .stale), .forbidden, to: visit, in: language)
        }
        guard step != .back else {
            return self.show(.form(typed: typed.shown, problem: nil), to: visit, in: language)
        }
        guard !typed.isEmpty else {
            return self.show(.form(typed: "", problem: .missing), .unprocessableContent, to: visit, in: language)
        }
        guard step == .delete else {
            if let until = self.limit.refusal(of: visit.source, at: now) {
                return self.limited(until: until, at: now, to: visit, in: language)
            }
            return self.show(.question(typed: typed.shown), to: visit, in: language)
        }
        return await self.delete(typed, to: visit, in: language)
    }

    private func delete(_ typed: TypedCode, to visit: Visit, in language: Language) async -> Answer {
        let begun = self.clock.now()
        if let until = self.limit.begin(visit.source, at: begun) {
            return self.limited(until: until, at: begun, to: visit, in: language)
        }
        let (service, source, asked) = (self.service, visit.source, typed.asked)
        // Run this in a separate task, so that a client cannot prevent the answer from being counted by disconnecting.
        let answer = await Task { await service.revoke(asked, for: source) }.value
        self.limit.end(visit.source, at: self.clock.now(), wasWrong: answer == .wrong)
        self.meters.note(answer)
        let whom: Logger.Metadata = ["source": "\(visit.source)"]
        let again = typed.shown
        switch answer {
        case .revoked(let at):
            self.log.notice("wallet deleted", metadata: whom)
            return self.show(.done(typed: again, at: at), to: visit, in: language)
        case .wrong:
            // Only the attempt that uses up a source's limit is logged at a higher level. Later attempts must not fill
            // the log.
            let isLast = self.limit.refusal(of: visit.source, at: self.clock.now()) != nil
            if let metadata = self.wrongCodeLines.allow(whom) {
                self.log.log(
                    level: isLast ? .notice : .info,
                    isLast ? "too many wrong codes" : "wrong code",
                    metadata: metadata
                )
            }
            let page = PortalPage.form(typed: again, problem: .wrong)
            return self.show(page, .unprocessableContent, to: visit, in: language)
        case .wait(let wait):
            return self.show(.busy(typed: again), .tooManyRequests, retryAfter: wait, to: visit, in: language)
        case .away(let wait):
            if let metadata = self.absenceLines.allow(whom) {
                self.log.warning("the server is away; nothing was done", metadata: metadata)
            }
            return self.show(.away(typed: again), .serviceUnavailable, retryAfter: wait, to: visit, in: language)
        case .unknown:
            if let metadata = self.absenceLines.allow(whom) {
                self.log.warning("the server gave no answer; whether it was done is not known", metadata: metadata)
            }
            return self.show(.unknown(typed: again), .badGateway, to: visit, in: language)
        }
    }

    private func limited(until: Timestamp, at now: Timestamp, to visit: Visit, in language: Language) -> Answer {
        self.meters.noteLimited()
        self.log.debug("too many wrong codes", metadata: ["source": "\(visit.source)"])
        return self.show(.limited(until: until), .tooManyRequests, retryAfter: until - now, to: visit, in: language)
    }

    private func show(
        _ page: PortalPage,
        _ status: HTTPResponse.Status = .ok,
        retryAfter: Duration? = nil,
        to visit: Visit,
        in language: Language
    ) -> Answer {
        let now = self.clock.now()
        let seals = PageWriter.Seals(
            check: self.seal.seal(.check, for: visit.source, at: now),
            delete: self.seal.seal(.delete, code: page.typed ?? "", for: visit.source, at: now)
        )
        return Answer(
            status: status,
            html: self.pages.html(page, in: language, seals: seals, now: now),
            language: language,
            retryAfter: retryAfter
        )
    }
}

/// A deletion code as entered by a user.
struct TypedCode: Hashable {
    /// The text that the page shows again: grouped if it can be a code, otherwise as entered but truncated.
    let shown: String
    /// The code, or nil if the text cannot be one.
    private let code: DeletionCode?

    /// The maximum length of the text shown again, in characters.
    static let longest = 64
    /// The code sent to the server in place of text that cannot be a code.
    ///
    /// No code contains a U, so the lookup fails just as for any wrong code. Text pasted by mistake never leaves the
    /// portal.
    private static let unreadable = String(repeating: "U", count: DeletionCode.length)

    init(_ text: String) {
        self.code = DeletionCode(text)
        let words = text.split {
            $0.isWhitespace || $0.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        self.shown = self.code?.grouped ?? String(words.joined(separator: " ").prefix(Self.longest))
    }

    /// Whether the text is empty.
    var isEmpty: Bool { self.shown.isEmpty }

    /// The code to send to the server.
    var asked: String { self.code?.characters ?? Self.unreadable }
}

/// Counts entered codes by outcome.
struct PortalMeters: Sendable {
    private let deleted: Counter
    private let wrong: Counter
    private let limited: Counter
    private let away: Counter
    private let unknown: Counter

    init(_ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_portal_codes_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        self.deleted = counter("deleted")
        self.wrong = counter("wrong")
        self.limited = counter("limited")
        self.away = counter("away")
        self.unknown = counter("unknown")
    }

    /// Counts the answer to a code.
    func note(_ answer: RevocationAnswer) {
        switch answer {
        case .revoked: self.deleted.increment()
        case .wrong: self.wrong.increment()
        case .wait: self.limited.increment()
        case .away: self.away.increment()
        case .unknown: self.unknown.increment()
        }
    }

    /// Counts a code rejected by the portal's own limit.
    func noteLimited() { self.limited.increment() }
}
