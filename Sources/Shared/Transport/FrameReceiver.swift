/// The receiver of a connection's frames; a ``FrameHandler`` only ever calls it on its event loop.
protocol FrameReceiver: AnyObject, Sendable {
    /// Called when both ends can send. `completed` is nil for a connection without TLS.
    func connectionOpened(_ completed: TLSHandshakeCompleted?)
    /// Takes a frame. Returns false if it must not be given another one until ``FrameHandler/resume()`` is called.
    ///
    /// A receiver that queues a long frame always returns false.
    func receiveFrame(_ frame: consuming [UInt8]) -> Bool
    /// Called when the received bytes are not a valid frame. There are no more frames after this.
    func receiveViolation(_ violation: FrameViolation)
    /// Called when the connection starts or stops holding all or part of a long frame, but not when it ends.
    func longFrameChanged(isHeld: Bool)
    /// Called when the peer stops or resumes reading the bytes we send.
    func writabilityChanged(_ isWritable: Bool)
    /// Called when frames can no longer be sent or received.
    func connectionEnded(_ failure: TLSFailure?)
}
