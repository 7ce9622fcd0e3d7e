internal import NIOCore
internal import NIOPosix

/// The threads that serve all connections.
package enum EventLoops {
    /// Sets the number of threads; the default is the number of processors.
    ///
    /// - Important: Call this before the first connection or listener; later it has no effect.
    package static func use(threads: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, threads)
    }
}
