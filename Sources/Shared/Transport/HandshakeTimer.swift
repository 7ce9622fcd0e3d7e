internal import NIOCore

/// The time limit for opening a connection.
///
/// The handlers of the connection share one timer, because the event loop searches its list of timers to cancel one.
final class HandshakeTimer: NIOScheduledCallbackHandler {
    /// Called when the time is up.
    ///
    /// Set by each handler when it takes over, and cleared on cancellation to break the reference cycle.
    var onTimeout: (() -> Void)?
    private var callback: NIOScheduledCallback?

    /// Starts the timer.
    ///
    /// Must be called on the event loop.
    init(deadline: NIODeadline, on eventLoop: any EventLoop) {
        // This only fails when the event loop is shut down, which ends the connection.
        self.callback = try? eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        self.onTimeout?()
    }

    func cancel() {
        self.callback?.cancel()
        self.callback = nil
        self.onTimeout = nil
    }
}
