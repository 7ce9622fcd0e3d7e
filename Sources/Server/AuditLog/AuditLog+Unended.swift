extension AuditLog {
    /// Records as unclear the commands that an earlier process began and did not end; called before any other use
    /// of the log.
    ///
    /// A restore carries out a command that was begun and never ended, since it may have been committed just before
    /// a crash. Once the store is open again, its state has decided that, and every later backup contains it.
    /// Without this entry every later restore would carry out a command that a crash prevented.
    ///
    /// - Returns: The number of such commands.
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
