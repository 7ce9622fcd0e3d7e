extension DistinguishedName {
    /// The organization in the names of every lab's roots.
    ///
    /// This is a safeguard rather than a protection. It keeps an operator from accidentally copying a lab's root, whose
    /// private key is in a file, to a production configuration.
    package static let labOrganization = "Remote PIN Lab"
}

extension Certificate {
    /// True if a lab's authority issued this certificate; production rejects such roots.
    package var isOfLab: Bool {
        [self.subject, self.issuer].contains { $0.organization == DistinguishedName.labOrganization }
    }
}
