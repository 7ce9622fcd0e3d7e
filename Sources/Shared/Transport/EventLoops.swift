internal import NIOCore

/// The threads that serve all connections.
package enum EventLoops {
    /// Sets the number of threads.
    ///
    /// The default is the number of processors.
    ///
    /// - Important: This must be called before the first connection or listener is created. After that, it has no
    ///   effect.
    package static func use(threads: Int) {
        NIOSingletons.groupLoopCountSuggestion = max(1, threads)
    }
}
