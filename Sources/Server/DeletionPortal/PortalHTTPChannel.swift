internal import HostSystem
internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// An HTTP/1 connection with the rules of RFC 9110 and RFC 9112 that Hummingbird leaves to its user.
struct PortalHTTPChannel: ServerChildChannel {
    private let http: HTTP1Channel

    init(responder: @escaping HTTPChannelHandler.Responder, configuration: HTTP1Channel.Configuration) {
        self.http = HTTP1Channel(
            responder: { request, writer, channel in
                if let status = Self.refusal(of: request) {
                    let headers: HTTPFields = [.connection: "close", .contentLength: "0"]
                    try await writer.writeResponse(HTTPResponse(status: status, headerFields: headers))
                    // A body stays unread, so it needs no time limit.
                    return channel.close(promise: nil)
                }
                if Self.expectsInterim(request) {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                try await responder(request, writer, channel)
            },
            configuration: configuration
        )
    }

    /// Returns the status of a request that is not answered with a page, or nil for all others.
    private static func refusal(of request: Request) -> HTTPResponse.Status? {
        // RFC 9112 §3.2: exactly one Host field, with a valid value. The first one became the request's authority.
        guard let host = request.head.authority, HostField.isValid(host),
            request.headers.values(of: "host").isEmpty
        else { return .badRequest }
        let byteCount = request.headers[.contentLength].map { Int($0) ?? .max } ?? 0
        return Self.expectsInterim(request) && byteCount > FormFields.longestByteCount ? .contentTooLarge : nil
    }

    /// Returns whether the client waits for an interim response before it sends the body (RFC 9110 §10.1.1).
    private static func expectsInterim(_ request: Request) -> Bool {
        request.headers.values(of: "expect").contains { $0.lowercased() == "100-continue" }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        self.http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(OldRequestHandler(), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await self.http.handle(value: value, logger: logger)
    }
}

/// Changes HTTP/1.0 requests to HTTP/1.1 requests with the same meaning, because the later handlers do not learn the
/// version.
private final class OldRequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data), head.version.minor < 1 else {
            return context.fireChannelRead(data)
        }
        // Such a request needs no Host, expects nothing, and ends the connection unless it says otherwise.
        if !head.headers.contains(name: "Host") { head.headers.add(name: "Host", value: "") }
        head.headers.remove(name: "Expect")
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}
