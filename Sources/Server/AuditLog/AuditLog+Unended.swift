extension AuditLog {
    /// Records as unclear what an earlier process had begun and not ended; called before the log is used for anything else.
    ///
    /// A restore carries out what was begun and never ended, since it may have been committed just before a crash. From the
    /// moment in which the store is open again its own state has decided that, and every later backup holds it: without this
    /// entry a command that a crash kept from happening would be carried out by every restore there will ever be.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func endUnended() async throws(AuditLogError) -> Int {
        let begun = self.takeUnended()
        for (number, record) in begun.sorted(by: { $0.key < $1.key }) {
            try await self.append(
                record.event,
                by: .server,
                on: record.subject,
                .unclear(of: number, reason: "the process ended before its result was on record")
            )
        }
        return begun.count
    }
}
