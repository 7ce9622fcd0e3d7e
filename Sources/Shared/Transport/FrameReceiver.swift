/// Receives a connection's frames.
///
/// It is only ever called by a ``FrameHandler``, on the handler's event loop.
protocol FrameReceiver: AnyObject, Sendable {
    /// Called when both ends can send.
    ///
    /// If TLS is not used, `completed` is nil.
    func connectionOpened(_ completed: TLSHandshakeCompleted?)
    /// Called with a frame.
    ///
    /// Returns false if there is no room for another one until ``FrameHandler/resume()`` is called.
    ///
    /// A receiver that queues a long frame always returns false.
    func receiveFrame(_ frame: consuming [UInt8]) -> Bool
    /// Called when the received bytes are not a valid frame.
    ///
    /// No more frames will follow.
    func receiveViolation(_ violation: FrameViolation)
    /// Called when the connection starts or stops holding all or part of a long frame, but not when the connection
    /// ends.
    func longFrameChanged(isHeld: Bool)
    /// Called when the peer stops or resumes reading the bytes we send.
    func writabilityChanged(_ isWritable: Bool)
    /// Called when frames can no longer be sent or received.
    func connectionEnded(_ failure: TLSFailure?)
}
