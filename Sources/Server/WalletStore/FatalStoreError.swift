/// A failure of the store's files after which the process must exit.
package struct FatalStoreError: Error, Sendable, CustomStringConvertible {
    /// A line for the log.
    package let description: String
    /// Whether the disk is full and no commit was lost, so that the process may restart automatically.
    ///
    /// After any other failure a later sync may succeed without the lost page, so an operator must intervene.
    package let isDiskFull: Bool

    init(_ description: String, isDiskFull: Bool = false) {
        self.description = description
        self.isDiskFull = isDiskFull
    }
}
