package import ChildPrograms
internal import NIOCore
internal import NIOPosix

/// A program that listens on a Unix socket and receives each event as a line.
///
/// The connection is never read, so a program that writes to it only blocks itself.
package struct SocketReceiver: EventReceiver {
    private let path: String
    private static let connectLimit = TimeAmount.seconds(5)

    package init(path: String) {
        self.path = path
    }

    package var name: String { self.path }

    package var kind: EventReceiverKind { .socket }

    package func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure) {
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.connectLimit)
                .channelOption(.autoRead, value: false)
                .connect(unixDomainSocketPath: self.path)
                .get()
        } catch {
            throw .notReached("\(error)")
        }
        let failure: ReceiverFailure?
        do {
            try await withTaskCancellationHandler {
                try await feed { line in try await channel.writeAndFlush(ByteBuffer(bytes: line)) }
            } onCancel: {
                channel.close(promise: nil)
            }
            failure = nil
        } catch {
            failure = .ended("\(error)")
        }
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
        if let failure { throw failure }
    }
}
