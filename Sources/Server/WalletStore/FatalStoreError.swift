/// A file error in the store after which the process must exit.
package struct FatalStoreError: Error, Sendable, CustomStringConvertible {
    /// A description for the log.
    package let description: String
    /// Whether the disk is full and no commit was lost, in which case the process may be restarted automatically.
    ///
    /// After any other failure, a later sync may succeed although a page was lost, so an operator must intervene.
    package let isDiskFull: Bool

    init(_ description: String, isDiskFull: Bool = false) {
        self.description = description
        self.isDiskFull = isDiskFull
    }
}
