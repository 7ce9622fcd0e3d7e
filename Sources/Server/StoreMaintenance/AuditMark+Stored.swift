package import AuditLog
package import WalletStore

extension StoredAuditMark {
    /// Converts a mark to the form in which it is stored.
    package init(_ mark: AuditMark) {
        self.init(number: mark.number, mac: mark.mac)
    }
}

extension AuditMark {
    /// Converts a mark from the form in which it is stored.
    package init(_ stored: StoredAuditMark) {
        self.init(number: stored.number, mac: stored.mac)
    }
}
