/// What the registry may do with a connection, whatever carries it.
struct LiveConnection: Sendable {
    /// Unique among the connections of this process.
    let id: UInt64
    /// Ends it at once; nothing that is still queued leaves.
    let abort: @Sendable () -> Void
    /// Ends it once what is queued has left.
    let close: @Sendable () -> Void
    /// Returns when it is closed and nothing can leave any more.
    let closed: @Sendable () async -> Void
}
