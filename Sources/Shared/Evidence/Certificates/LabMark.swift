extension DistinguishedName {
    /// The organization in the names of every lab's roots.
    ///
    /// A safeguard, not a protection: it keeps an operator from copying a lab's root, whose private key is in a
    /// file, into a production configuration.
    package static let labOrganization = "Remote PIN Lab"
}

extension Certificate {
    /// True if a lab's authority issued this certificate; production rejects such roots.
    package var isOfLab: Bool {
        [self.subject, self.issuer].contains { $0.organization == DistinguishedName.labOrganization }
    }
}
