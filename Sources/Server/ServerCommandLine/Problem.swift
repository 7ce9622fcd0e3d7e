/// A problem with the server's files or machine, with the operator's next step.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package let cure: String

    package init(_ text: String, cure: String) {
        self.text = text
        self.cure = cure
    }

    package var description: String { "\(self.text): \(self.cure)" }
}
