package import WalletFlows

extension Phone {
    /// Returns a stream that starts with the current screen and continues with its changes, at most five per second.
    ///
    /// Reading the stream also handles the app's timers, as a phone's display would: for the end of a block, the splash
    /// screen, and the lock times. The stream finishes when its reader is released.
    package nonisolated func watch() -> AsyncStream<Screen> {
        let (screens, continuation) = AsyncStream.makeStream(of: Screen.self, bufferingPolicy: .bufferingNewest(1))
        let ticking = Task {
            var shown: Screen?
            while !Task.isCancelled {
                let screen = await self.refresh()
                if screen != shown { continuation.yield(screen) }
                shown = screen
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        continuation.onTermination = { _ in ticking.cancel() }
        return screens
    }
}
