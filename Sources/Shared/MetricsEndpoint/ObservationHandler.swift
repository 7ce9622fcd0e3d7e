internal import HostSystem
internal import NIOCore
internal import NIOHTTP1

/// Answers a single request and then closes the connection.
///
/// Connections are never kept alive, and data after the first request is ignored, so a client can neither occupy a
/// connection nor mix up two responses. Each connection has a fixed time limit, which the client cannot extend.
final class ObservationHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answers: ObservationSources
    private let limit: TimeAmount
    private var end: Scheduled<Void>?
    private var hasAnswered = false

    init(_ answers: ObservationSources, limit: TimeAmount) {
        self.answers = answers
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.end = context.eventLoop.assumeIsolated().scheduleTask(in: self.limit) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end?.cancel()
        self.end = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = self.unwrapInboundIn(data), !self.hasAnswered else { return }
        self.hasAnswered = true
        // The body and any further data stay in the socket's buffer.
        context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        let hosts = head.headers["Host"]
        // RFC 9112 §3.2.
        guard hosts.count == 1 || (hosts.isEmpty && head.version == .http1_0), hosts.allSatisfy(HostField.isValid)
        else {
            return self.send(.malformed, isHead: false, context: context)
        }
        let isHead = head.method == .HEAD
        let path = head.uri.prefix { $0 != "?" }
        guard ["/metrics", "/livez", "/readyz"].contains(path) else {
            return self.send(.notFound, isHead: isHead, context: context)
        }
        guard isHead || head.method == .GET else { return self.send(.notAllowed, isHead: false, context: context) }
        switch path {
        case "/metrics": self.send(.metrics(self.answers.metrics()), isHead: isHead, context: context)
        case "/readyz":
            let response = ObservationResponse.readiness(self.answers.readiness(), self.answers.waitingReason())
            self.send(response, isHead: isHead, context: context)
        default: self.askForFailures(isHead: isHead, context: context)
        }
    }

    private func askForFailures(isHead: Bool, context: ChannelHandlerContext) {
        let promise = context.eventLoop.makePromise(of: [String].self)
        let failures = self.answers.failures
        promise.completeWithTask { await failures() }
        promise.futureResult.assumeIsolated().whenSuccess { failures in
            self.send(.alive(except: failures), isHead: isHead, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard context.channel.isActive else { return context.close(promise: nil) }
        // The response is being sent, after which the connection is closed. Further input must not interfere.
        guard !self.hasAnswered else { return }
        self.hasAnswered = true
        switch error {
        case is RequestTooLong: self.send(.tooLong, isHead: false, context: context)
        case is HTTPParserError: self.send(.malformed, isHead: false, context: context)
        default: context.close(promise: nil)
        }
    }

    private func send(_ answer: ObservationResponse, isHead: Bool, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let body = ByteBuffer(string: answer.text)
        var headers: HTTPHeaders = [
            "Content-Type": answer.mediaType, "Content-Length": "\(body.readableBytes)", "Connection": "close",
            "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        if let allowed = answer.allowed { headers.add(name: "Allow", value: allowed) }
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: sent)
    }
}

/// A request exceeded its size limit.
struct RequestTooLong: Error {}

/// Limits the number of input bytes on a connection before any other handler reads or buffers them.
final class RequestByteLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var rest: Int

    init(_ limit: Int) {
        self.rest = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.rest >= 0 else { return }
        self.rest -= self.unwrapInboundIn(data).readableBytes
        guard self.rest >= 0 else { return context.fireErrorCaught(RequestTooLong()) }
        context.fireChannelRead(data)
    }
}
