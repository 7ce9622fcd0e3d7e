extension DistinguishedName {
    /// The organization in the names of every lab's roots.
    ///
    /// A mark, not a protection: it keeps an operator from pasting a lab's root, whose private key lies in a file, into
    /// a production configuration.
    package static let labOrganization = "Remote PIN Lab"
}

extension Certificate {
    /// Whether a lab's authority made this certificate; production refuses such roots.
    package var isOfLab: Bool {
        [self.subject, self.issuer].contains { $0.organization == DistinguishedName.labOrganization }
    }
}
