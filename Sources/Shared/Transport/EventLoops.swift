internal import NIOCore
internal import NIOPosix

/// The threads that serve all connections.
package enum EventLoops {
    /// Sets the number of threads, which is the number of processors by default.
    ///
    /// - Important: This must be called before the first connection or listener is created. After that, it has no
    ///   effect.
    package static func use(threads: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, threads)
    }
}
