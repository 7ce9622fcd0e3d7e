internal import NIOCore
internal import NIOPosix

/// The threads that connections live on.
package enum EventLoops {
    /// How many there are to be: as many as processors unless this says otherwise.
    ///
    /// - Important: Before the first connection or listener; later it changes nothing.
    package static func use(threads: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, threads)
    }
}
