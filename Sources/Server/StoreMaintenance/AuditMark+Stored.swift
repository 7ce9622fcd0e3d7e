package import AuditLog
package import WalletStore

extension StoredAuditMark {
    /// The form in which the store keeps a mark.
    package init(_ mark: AuditMark) {
        self.init(number: mark.number, mac: mark.mac)
    }
}

extension AuditMark {
    /// A mark that the store keeps.
    package init(_ stored: StoredAuditMark) {
        self.init(number: stored.number, mac: stored.mac)
    }
}
