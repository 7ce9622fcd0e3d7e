/// A failure of the store's files after which the process must end.
package struct FatalStoreError: Error, Sendable, CustomStringConvertible {
    /// A line for the log.
    package let description: String
    /// Whether the disk is full and no commit is lost: the process may start again by itself.
    ///
    /// After any other failure a later sync may succeed without the lost page, so an operator must act.
    package let isDiskFull: Bool

    init(_ description: String, isDiskFull: Bool = false) {
        self.description = description
        self.isDiskFull = isDiskFull
    }
}
