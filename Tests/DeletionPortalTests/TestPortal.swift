import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServerSettings
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import DeletionPortal

/// The real portal over real connections, with a fake revocation service and a manual clock.
struct TestPortal {
    let service: FakeRevocationService
    let clock = ManualClock()
    let log = PortalLog()
    let server: PortalServer

    init(
        service: FakeRevocationService = FakeRevocationService(),
        limits: PortalServer.Limits = PortalServer.Limits(),
        settings: [(name: String, value: String)] = []
    ) throws {
        self.service = service
        let flags = [("portal.socket", "/nowhere"), ("portal.listen", "127.0.0.1:0")] + settings
        let log = self.log
        self.server = try PortalServer(
            try ServerSettings(file: nil, flags: flags, currentFolder: "/", sections: ["portal", "log"]),
            service: service,
            clock: self.clock,
            log: Logger(label: "test") { _ in log.handler },
            limits: limits
        )
    }

    /// Serves for the duration of `body`.
    func run(_ body: @Sendable (Browser) async throws -> Void) async throws {
        let (ports, source) = AsyncStream<Int>.makeStream()
        let application = self.server.application { channel in
            source.yield(channel.localAddress?.port ?? 0)
            source.finish()
        }
        let quiet = Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [application], logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var port: Int?
            for await number in ports { port = number }
            do {
                try await body(Browser(port: try port.orThrow()))
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

/// A user's browser: sends requests, each over a separate connection.
struct Browser: Sendable {
    let port: Int
    /// The address that the proxy reports; each has a separate allowance.
    var address: String?

    /// The same user on another network.
    func at(_ address: String) -> Browser { Browser(port: self.port, address: address) }

    func get(_ path: String = "/en", _ headers: HTTPFields = [:]) async throws -> PageResponse {
        try await self.request(.get, path, headers)
    }

    func request(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: HTTPFields = [:],
        body: String? = nil
    ) async throws -> PageResponse {
        var lines = ["\(method.rawValue) \(path) HTTP/1.1", "Host: localhost", "Connection: close"]
        lines += headers.map { "\($0.name.rawName): \($0.value)" }
        if let address { lines.append("X-Forwarded-For: \(address)") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        let peer = try await RawClient(port: self.port)
        await peer.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return try PageResponse(await peer.receive(until: nil))
    }

    /// Sends the fields of a form.
    func post(
        _ fields: KeyValuePairs<String, String>,
        to path: String = "/en",
        _ headers: HTTPFields = [:]
    ) async throws -> PageResponse {
        var headers = headers
        if headers[.contentType] == nil { headers[.contentType] = "application/x-www-form-urlencoded" }
        let body = fields.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
        return try await self.request(.post, path, headers, body: body)
    }

    /// Enters a code; returns the confirmation page.
    func check(_ code: String, _ headers: HTTPFields = [:]) async throws -> PageResponse {
        try await self.post(["seal": try await self.get().seal, "code": code, "step": "check"], headers)
    }

    /// Enters a code and confirms it; returns the last page.
    func delete(_ code: String, _ headers: HTTPFields = [:]) async throws -> PageResponse {
        let question = try await self.check(code)
        guard question.status == .ok else { return question }
        return try await self.post(["seal": question.seal, "code": question.typed, "step": "delete"], headers)
    }

    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}

/// A response as a browser receives it.
struct PageResponse: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: String

    /// Reads a complete response.
    init(_ answer: String) throws {
        let head = try answer.firstRange(of: "\r\n\r\n").orThrow()
        var lines = answer[..<head.lowerBound].components(separatedBy: "\r\n")[...]
        let code = lines.popFirst()?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        self.status = HTTPResponse.Status(code: try code.orThrow())
        var headers = HTTPFields()
        for line in lines {
            let colon = try line.firstIndex(of: ":").orThrow()
            let name = HTTPField.Name.named(String(line[..<colon]))
            headers.append(
                HTTPField(name: name, value: line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
            )
        }
        self.headers = headers
        self.body = String(answer[head.upperBound...])
    }

    /// The seal of the page's form, in the main part after the language switch.
    var seal: String { self.value("seal") }
    /// The code in the page's form, hidden or in its field.
    var typed: String { self.value("code") }

    var heading: String { self.part("<h1", "</h1>").split(separator: ">").last.map(String.init) ?? "" }

    private func value(_ name: String) -> String {
        let main = self.body.components(separatedBy: "<main>").last ?? ""
        guard let field = main.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().first else { return "" }
        let text = field.components(separatedBy: "\"")[0]
        return [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'")]
            .reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }

    private func part(_ start: String, _ end: String) -> String {
        guard let rest = self.body.components(separatedBy: start).dropFirst().first else { return "" }
        return rest.components(separatedBy: end)[0]
    }
}

extension HTTPField.Name {
    static var forwardedFor: Self { .named("X-Forwarded-For") }
    static var fetchSite: Self { .named("Sec-Fetch-Site") }

    static func named(_ name: String) -> Self {
        guard let name = HTTPField.Name(name) else { preconditionFailure("a field's name") }
        return name
    }
}

/// A log that a test can read.
final class PortalLog: Sendable {
    private let recorded = Mutex<[String]>([])
    var text: String { self.recorded.withLock { $0.joined(separator: "\n") } }
    var handler: Handler { Handler(log: self) }

    struct Handler: LogHandler {
        let log: PortalLog
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.trace

        init(log: PortalLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
            self.log.recorded.withLock { $0.append("\(event.level) \(event.message) \(metadata)") }
        }
    }
}
