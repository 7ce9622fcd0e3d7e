extension DistinguishedName {
    /// The organization in the names of all labs' roots.
    ///
    /// This is a safeguard rather than a protection. It keeps an operator from accidentally copying a lab's root, whose
    /// private key is stored in a file, to a production configuration.
    package static let labOrganization = "Remote PIN Lab"
}

extension Certificate {
    /// Whether this certificate was issued by a lab's authority.
    ///
    /// Such roots are rejected in production.
    package var isOfLab: Bool {
        [self.subject, self.issuer].contains { $0.organization == DistinguishedName.labOrganization }
    }
}
