internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerSettings
internal import Transport
internal import Vocabulary

/// Reads requests for the ``Portal`` and writes its answers, with the headers common to all pages.
struct PortalResponder: HTTPResponder {
    /// The context of a request, which provides access to its connection.
    struct Context: InitializableFromSource, Sendable {
        let channel: any Channel

        init(source: ApplicationRequestContextSource) { self.channel = source.channel }
    }

    let portal: Portal
    let sources: ClientSource
    /// The time limit for reading a request's body.
    ///
    /// An idle timeout is not enough, because a client that sends a byte every few seconds is never idle.
    let bodyLimit: TimeAmount

    func respond(to request: Request, context: Context) async throws -> Response {
        let forwarded = request.headers.values(of: "x-forwarded-for")
        guard
            let source = self.sources.source(peer: context.channel.remoteAddress?.ipAddress, forwardedFor: forwarded)
        else { return Response(status: .badRequest) }
        var visit = Portal.Visit(
            method: request.method,
            path: request.uri.path,
            host: request.head.authority,
            headers: request.headers,
            source: source
        )
        // Read every body, even for methods that have none. Otherwise, the server would wait for the rest without a
        // time limit.
        guard let body = try await self.body(of: request, on: context.channel) else {
            return self.response(to: visit, self.portal.answerToLongBody(visit))
        }
        guard [.get, .head, .post].contains(request.method) else {
            return Response(status: .methodNotAllowed, headers: [.allow: "GET, HEAD, POST"])
        }
        visit.body = body
        return self.response(to: visit, await self.portal.answer(visit))
    }

    /// Reads the body of a request.
    ///
    /// Returns nil if it is longer than any of the portal's forms. Closes the connection if the body does not arrive in
    /// time or does not end.
    private func body(of request: Request, on channel: any Channel) async throws -> String? {
        let timer = channel.eventLoop.scheduleTask(in: self.bodyLimit) { channel.close(promise: nil) }
        var bytes: [UInt8] = []
        for try await buffer in request.body {
            // The timer keeps running to limit the wait for the rest of the body.
            guard bytes.count + buffer.readableBytes <= FormFields.longestByteCount else { return nil }
            bytes += Array(buffer: buffer)
        }
        timer.cancel()
        return String(decoding: bytes, as: UTF8.self)
    }

    private func response(to visit: Portal.Visit, _ answer: Portal.Answer) -> Response {
        var response = Response(status: answer.status, headers: Self.headers)
        if let html = answer.html {
            response.headers[.contentType] = "text/html; charset=utf-8"
            response.body = ResponseBody(byteBuffer: ByteBuffer(string: html))
        } else {
            response.headers[.contentType] = "text/plain; charset=utf-8"
            response.body = ResponseBody(byteBuffer: ByteBuffer(string: "ok\n"))
        }
        if let language = answer.language { response.headers[.contentLanguage] = language.rawValue }
        if let wait = answer.retryAfter {
            response.headers[.retryAfter] = "\(max(1, wait.milliseconds.dividedRoundingUp(by: 1000)))"
        }
        return visit.method == .head ? response.createHeadResponse() : response
    }

    /// Headers that forbid scripts, external resources, caching, framing and referrers.
    private static let headers: HTTPFields = {
        var headers: HTTPFields = [
            .cacheControl: "no-store",
            .contentSecurityPolicy:
                "default-src 'none'; style-src \(Style.source); form-action 'self'; base-uri 'none'; "
                + "frame-ancestors 'none'",
            .xContentTypeOptions: "nosniff",
            .vary: "Accept-Language",
        ]
        headers.set("Referrer-Policy", to: "no-referrer")
        headers.set("X-Frame-Options", to: "DENY")
        headers.set("Cross-Origin-Opener-Policy", to: "same-origin")
        headers.set("Cross-Origin-Resource-Policy", to: "same-origin")
        headers.set("Permissions-Policy", to: "camera=(), geolocation=(), microphone=()")
        return headers
    }()
}

extension HTTPFields {
    /// Returns the values of a header field that has no constant, in order.
    func values(of name: String) -> [String] {
        self.filter { $0.name.canonicalName == name }.map(\.value)
    }

    /// Returns the values of a field joined into one, or nil if the field is missing.
    func value(of name: String) -> String? {
        let values = self.values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    fileprivate mutating func set(_ name: String, to value: String) {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is a field's name") }
        self[name] = value
    }
}

/// Determines the source that limits are applied to, from a request's connection and X-Forwarded-For.
///
/// Each proxy appends the address of its peer to X-Forwarded-For, and a client can add any entries before those. The
/// entries are therefore read from the end, and an entry is used only if a trusted proxy wrote it.
struct ClientSource {
    private let trusted: [AddressRange]

    init(trusting proxies: [AddressRange]) { self.trusted = proxies }

    /// Returns the source of a request.
    ///
    /// - Parameters:
    ///   - peer: The address of the connection. If nil, the result is nil.
    ///   - forwardedFor: The X-Forwarded-For fields, in order.
    func source(peer: String?, forwardedFor: [String]) -> PeerSource? {
        guard let peer, var source = PeerSource(address: peer) else { return nil }
        guard self.isTrusted(peer) else { return source }
        let entries = forwardedFor.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for entry in entries.reversed() {
            // If a proxy wrote an invalid address, the last known address is that proxy's.
            guard let address = Self.address(entry), let next = PeerSource(address: address) else { break }
            source = next
            guard self.isTrusted(address) else { break }
        }
        return source
    }

    private func isTrusted(_ address: String) -> Bool {
        self.trusted.contains { $0.contains(address) }
    }

    /// Parses the address in an entry.
    ///
    /// Some proxies add a port, and brackets around an IPv6 address.
    private static func address(_ entry: Substring) -> String? {
        let text = entry.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
        let address = String(text)
        if address.hasPrefix("[") {
            guard let end = address.firstIndex(of: "]") else { return nil }
            return String(address[address.index(after: address.startIndex)..<end])
        }
        let colons = address.utf8.count { $0 == UInt8(ascii: ":") }
        return colons == 1 ? String(address.prefix { $0 != ":" }) : address
    }
}
