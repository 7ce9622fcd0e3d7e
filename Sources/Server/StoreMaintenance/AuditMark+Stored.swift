package import AuditLog
package import WalletStore

extension StoredAuditMark {
    /// Converts a mark to its stored form.
    package init(_ mark: AuditMark) {
        self.init(number: mark.number, mac: mark.mac)
    }
}

extension AuditMark {
    /// Converts a mark from its stored form.
    package init(_ stored: StoredAuditMark) {
        self.init(number: stored.number, mac: stored.mac)
    }
}
