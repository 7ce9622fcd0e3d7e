@testable import DeletionPortal
internal import EmbeddedServer
internal import Foundation
internal import HTTPTypes
internal import Logging
internal import Metrics
internal import ServerSettings
internal import TestSupport
internal import Transport
internal import Vocabulary

/// The deletion portal's answers to requests, without the web server's HTTP parser.
///
/// An input is a text: method, path and peer in the first line, then headers, an empty line and the body. In the body,
/// `@check` and `@delete` stand for the seals of both forms.
final class PortalTarget: FuzzTarget {
    private static let code = "4K7W-9Q2M-XH3T-0B8R-1Z"
    /// Typed markup that a page must never contain unescaped.
    private static let markup = "<fuzz"

    private let queue = JobQueue()
    private let clock = ManualClock()
    private let portal: Portal
    private let sources: ClientSource

    /// A service that knows one code.
    private struct Service: RevocationService {
        func revoke(_ code: String, for source: PeerSource) async -> RevocationAnswer {
            guard DeletionCode(code) == DeletionCode(PortalTarget.code) else { return .wrong }
            return .revoked(at: Timestamp(milliseconds: 1_795_000_000_000))
        }
    }

    init() throws {
        guard let zone = TimeZone(identifier: "UTC") else { fatalError("UTC is a time zone") }
        self.portal = Portal(
            pages: try PageWriter(product: "Fuzz", zone: zone, helpLink: nil),
            service: Service(),
            clock: self.clock,
            log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() },
            meters: PortalMeters(NOOPMetricsHandler.instance)
        )
        self.sources = ClientSource(trusting: ["127.0.0.0/8", "::1/128"].compactMap { AddressRange($0) })
    }

    var format: InputFormat? { .lines }

    func run(_ input: [UInt8]) {
        self.clock.advance(by: .seconds(86_400))
        let text = String(decoding: input, as: UTF8.self)
        let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 3, let method = HTTPRequest.Method(words[0]) else { return }
        var headers = HTTPFields()
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            guard pair.count == 2, let name = HTTPField.Name(String(pair[0])) else { continue }
            headers.append(HTTPField(name: name, value: String(pair[1].drop { $0 == " " })))
        }
        let forwarded = headers.filter { $0.name.canonicalName == "x-forwarded-for" }.map(\.value)
        guard let source = self.sources.source(peer: words[2], forwardedFor: forwarded) else { return }
        var visit = Portal.Visit(method: method, path: words[1], host: "localhost", headers: headers, source: source)
        visit.body = self.sealed(parts.count == 2 ? String(parts[1]) : "", for: source)
        let answer = self.answer(visit)
        require(answer.html?.contains(Self.markup) != true, "a page contains typed markup")
    }

    private func answer(_ visit: Portal.Visit) -> Portal.Answer {
        let portal = self.portal
        return self.queue.value { await portal.answer(visit) }
    }

    /// The body with the seals of forms that the portal has just sent.
    private func sealed(_ body: String, for source: PeerSource) -> String {
        guard body.contains("@check") || body.contains("@delete") else { return body }
        let form = Portal.Visit(method: .get, path: "/en", host: "localhost", headers: [:], source: source)
        let check = Self.seal(in: self.answer(form))
        var question = form
        question.method = .post
        question.headers = [.contentType: FormFields.mediaType]
        question.body = "step=check&code=\(Self.code)&seal=\(check)"
        let delete = body.contains("@delete") ? Self.seal(in: self.answer(question)) : ""
        return body.replacing("@check", with: check).replacing("@delete", with: delete)
    }

    private static func seal(in answer: Portal.Answer) -> String {
        guard let html = answer.html, let start = html.firstRange(of: "name=\"seal\" value=\"")?.upperBound else {
            return ""
        }
        let value = html[start...].prefix { $0 != "\"" }
        // As a browser sends it.
        return String(value).replacing("&#x3D;", with: "=").replacing("+", with: "%2B").replacing("=", with: "%3D")
    }

    var words: [String] {
        [
            "POST /en 127.0.0.1", "step=check", "step=delete", "step=back", "&code=", "&seal=@check", "&seal=@delete",
            Self.code, "Content-Type: application/x-www-form-urlencoded\n", "X-Forwarded-For: ",
            "Origin: http://localhost\n",
            "Sec-Fetch-Site: same-origin\n", "Accept-Language: nl, en;q=0.5\n", "%3Cfuzz", "%E2%80%93",
            "::ffff:10.0.0.1",
        ]
    }

    var seeds: [[UInt8]] {
        let head = "POST /en 127.0.0.1\nContent-Type: application/x-www-form-urlencoded\n"
        return [
            "GET /nl 127.0.0.1\nAccept-Language: nl, en;q=0.5\n\n", "HEAD /livez ::1\n\n", "GET /x 192.0.2.1\n\n",
            head + "X-Forwarded-For: 192.0.2.7, 10.0.0.1\n\nstep=check&code=\(Self.code)&seal=@check",
            head + "Origin: http://localhost\n\nstep=delete&code=\(Self.code)&seal=@delete",
            head + "Sec-Fetch-Site: same-origin\n\nstep=delete&code=%3Cfuzz&seal=@check",
            head + "\nstep=check&code=%3Cfuzz%3E+a&seal=@check", head + "\nstep=back&code=%3Cfuzz",
        ].map { Array($0.utf8) }
    }
}
