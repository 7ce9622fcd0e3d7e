internal import ArgumentParser
internal import UnixSignals

/// What SIGINT and SIGTERM do to a command that takes a while: the first asks it to stop, the second ends the process.
enum Interruption {
    /// Listens from here on, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - stop: what the first signal does; the command then ends by itself.
    ///   - beforeExit: what the second one still does, as giving a terminal back.
    static func watch(
        stop: @escaping @Sendable () -> Void,
        beforeExit: @escaping @Sendable () -> Void = {}
    ) async -> Task<Void, Never> {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return Task {
            var isStopping = false
            for await _ in signals {
                if isStopping {
                    beforeExit()
                    PinLoadProgram.exit(withError: ExitStatus.interrupted.exitCode)
                }
                isStopping = true
                stop()
            }
        }
    }
}
