internal import Vocabulary
package import Wire

/// The Unix socket on which a running server takes its operator's commands.
///
/// Whoever may open the file may give commands: only the server's own user can, or with a group its members too (mode
/// 0600 or 0660, from before it listens). Who it is that does, the kernel says.
package final class AdminListener: Sendable {
    /// Commands of some operators and their scripts at a time; each connection is a file of the process.
    package static let limits = TransportLimits.local(connections: 64)

    private let listener: ConnectionListener

    private init(_ listener: ConnectionListener) {
        self.listener = listener
    }

    /// Listens at `path`, replacing a socket that an earlier process left there.
    ///
    /// - Parameters:
    ///   - group: whose members may give commands too.
    ///   - observer: who is told of connections that there was no room for.
    /// - Precondition: no other process serves this folder; its lock is the caller's to hold.
    package static func bind(
        path: String,
        group: UInt32? = nil,
        limits: TransportLimits = AdminListener.limits,
        observer: ListenerObserver = ListenerObserver()
    ) async throws(ListenError) -> AdminListener {
        AdminListener(
            try await ConnectionListener.bind(unixSocket: path, group: group, limits: limits, observer: observer)
        )
    }

    /// Carries out commands, one after the other on each connection, until ``stop()`` or cancellation.
    package func serve(_ carryOut: @escaping @Sendable (AdminCommand, AdminPeer) async -> AdminResult) async {
        await self.listener.serve { opened in
            // Nothing is done for somebody of whom nobody can be told afterwards.
            guard let peer = await AdminPeer.other(endOf: opened.frames.channel) else { return }
            while case .frame(let bytes) = await opened.frames.next() {
                let response: AdminResponse
                var isUse = true
                do throws(WireError) {
                    let request = try AdminRequest(decoding: bytes)
                    response = AdminResponse(id: request.id, result: await carryOut(request.command, peer))
                } catch {
                    let failure = AdminFailure(.malformed, "The command cannot be read: \(error).")
                    response = AdminResponse(id: error.id ?? 0, result: .failed(failure))
                    isUse = false
                }
                guard await opened.frames.send(Self.frame(of: response), isUse: isUse) else { return }
            }
        }
    }

    /// The answer's frame, or one that says that it is too long to be given.
    private static func frame(of response: AdminResponse) -> [UInt8] {
        let frame = response.encoded()
        guard frame.count > Frame.longestByteCount else { return frame }
        let failure = AdminFailure(.internal, "The answer is too long: \(frame.count) bytes.")
        return AdminResponse(id: response.id, result: .failed(failure)).encoded()
    }

    /// Takes no more commands and removes the socket; the command that is being carried out is still answered.
    package func stop() {
        self.listener.stop()
    }
}
