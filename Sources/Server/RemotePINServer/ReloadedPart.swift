/// The result of reading a part of the server's configuration or data again.
package struct ReloadedPart: Codable, Hashable, Sendable {
    /// The name of the part, such as `certificate`.
    package let name: String
    /// Whether the new version took effect; if not, the old one stays in use.
    package let reloaded: Bool
    /// The reason why the old version stays in use, or nil if the new one took effect.
    package let reason: String?
    /// The changes in the new one, if any are known.
    package let note: String?

    /// - Parameter problem: why the old one stays in use, or nil if the new one took effect.
    package init(_ name: String, problem: String? = nil, note: String? = nil) {
        self.name = name
        self.reloaded = problem == nil
        self.reason = problem
        self.note = note
    }
}
