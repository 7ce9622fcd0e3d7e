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
                // RFC 9112 §3.2: exactly one Host field. The first one became the request's authority.
                guard request.head.authority != nil, request.headers.values(of: "host").isEmpty else {
                    let headers: HTTPFields = [.connection: "close", .contentLength: "0"]
                    try await writer.writeResponse(HTTPResponse(status: .badRequest, headerFields: headers))
                    // A body stays unread, so it needs no time limit.
                    return channel.close(promise: nil)
                }
                // RFC 9110 §10.1.1: the client waits for this answer before it sends the body.
                if request.headers.values(of: "expect").contains(where: { $0.lowercased() == "100-continue" }) {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                try await responder(request, writer, channel)
            },
            configuration: configuration
        )
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
