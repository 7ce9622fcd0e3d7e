package import WalletCore

extension Phone {
    /// A stream of screens: the current one, then each change, at most five per second.
    ///
    /// Reading it also processes the app's timers, as the display of a phone would: the end of a block, of the splash
    /// screen and of the lock times. It ends when the reader drops it.
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
