/// The outcome of reading one part of the server's configuration or data again.
package struct ReloadedPart: Codable, Hashable, Sendable {
    /// `certificate`, for example.
    package let name: String
    /// False if the old one stays in use.
    package let reloaded: Bool
    /// The reason why the old one stays in use.
    package let reason: String?

    /// - Parameter problem: why the old one stays in use, or nil if the new one took effect.
    package init(_ name: String, problem: String? = nil) {
        self.name = name
        self.reloaded = problem == nil
        self.reason = problem
    }
}
