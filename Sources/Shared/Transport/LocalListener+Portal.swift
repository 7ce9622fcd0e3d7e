package import Wire

extension LocalListener {
    /// Answers the deletion portal's requests, one at a time on each connection, until ``stop()`` is called or the task
    /// is cancelled.
    ///
    /// This socket only accepts ``PortalRequest``. An attacker who takes over the portal cannot do any more than a
    /// browser can, because operators' commands use a different socket.
    ///
    /// - Parameter answer: Returns nil if the outcome is unknown, in which case the connection ends without an answer.
    package func servePortal(_ answer: @escaping @Sendable (PortalRequest) async -> PortalResult?) async {
        await self.serve { frame, _ in
            let response: PortalResponse
            do throws(WireError) {
                let request = try PortalRequest(decoding: frame)
                guard let result = await answer(request) else { return nil }
                response = PortalResponse(id: request.id, result: result)
            } catch {
                response = PortalResponse(id: error.id ?? 0, result: .malformed)
            }
            return Answer(response.encoded(), isUse: response.result.isUse)
        }
    }
}

extension PortalResult {
    /// Whether the server has looked up a code.
    fileprivate var isUse: Bool {
        switch self {
        case .revoked, .notRecognised: true
        case .rateLimited, .unavailable, .malformed: false
        }
    }
}
