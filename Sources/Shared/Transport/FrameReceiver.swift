/// The receiver of the frames of one connection; a ``FrameHandler`` calls it on its event loop only.
protocol FrameReceiver: AnyObject, Sendable {
    /// Called when both ends can send; `completed` is nil on a plain connection.
    func connectionOpened(_ completed: TLSHandshakeCompleted?)
    /// Takes a frame; returns false if no further frame may come before ``FrameHandler/resume()``.
    ///
    /// A receiver that queues a long frame always returns false.
    func receiveFrame(_ frame: consuming [UInt8]) -> Bool
    /// Called when the bytes are not a frame; no further frame comes.
    func receiveViolation(_ violation: FrameViolation)
    /// Called when the connection starts or stops holding a long frame or its beginning, except at its end.
    func longFrameChanged(isHeld: Bool)
    /// Called when the peer stops or resumes taking the bytes that are sent.
    func writabilityChanged(_ isWritable: Bool)
    /// Called when frames can no longer be sent or received.
    func connectionEnded(_ failure: TLSFailure?)
}
