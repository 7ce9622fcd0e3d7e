package import WalletCore

extension Phone {
    /// The screen whenever it has changed, for who shows it: first the present one, then at most five a second.
    ///
    /// Also keeps the app's own timers going, as a phone's screen would: the end of a block, of the splash screen, of
    /// somebody's patience. It ends when the reader lets go of it.
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
