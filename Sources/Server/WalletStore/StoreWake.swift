package import Dispatch

/// The signal by which callers wake the store's thread; a simulator decides when the thread continues.
package protocol StoreWake: Sendable {
    /// Lets one call of ``wait()`` return, now or later.
    @discardableResult
    func signal() -> Int

    /// Waits for a signal.
    func wait()

    /// Waits for a signal, at most this long.
    func wait(atMost limit: Duration)
}

extension DispatchSemaphore: StoreWake {
    package func wait(atMost limit: Duration) {
        _ = self.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
    }
}
