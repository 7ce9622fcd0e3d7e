/// The result of reloading part of the server's configuration or data.
package struct ReloadedPart: Codable, Hashable, Sendable {
    /// The name of the part, for example `certificate`.
    package let name: String
    /// Whether the new version took effect.
    ///
    /// If not, the old one stays in use.
    package let reloaded: Bool
    /// The reason the old version stays in use, or nil if the new one took effect.
    package let reason: String?
    /// The changes in the new version, if known.
    package let note: String?

    /// - Parameter problem: The reason the old version stays in use, or nil if the new one took effect.
    package init(_ name: String, problem: String? = nil, note: String? = nil) {
        self.name = name
        self.reloaded = problem == nil
        self.reason = problem
        self.note = note
    }
}
