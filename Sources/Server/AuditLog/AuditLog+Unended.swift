extension AuditLog {
    /// Completes the commands that an earlier process left unfinished.
    ///
    /// Must be called before any other use of the log. A restore carries out every command that was begun but not
    /// completed, because it may have been committed just before a crash. A revocation is therefore also carried out
    /// here (`carryOut`) and recorded as done. For any other command, the store shows whether it was committed, so it
    /// is recorded as unclear. Without that entry, every later restore would carry out a command that a crash had
    /// prevented.
    ///
    /// - Parameter carryOut: Carries out a revocation that was begun. Returns false for any other command.
    /// - Returns: The number of unfinished commands.
    @discardableResult
    package func endUnended(
        _ carryOut: (AuditRecord) async throws -> Bool = { _ in false }
    ) async throws -> Int {
        let begun = self.takeUnended()
        for (number, record) in begun.sorted(by: { $0.key < $1.key }) {
            let phase: AuditPhase =
                try await carryOut(record)
                ? .done(of: number, result: "carried out at the start")
                : .unclear(of: number, reason: "the process ended before its result was on record")
            try await self.append(record.event, by: .server, on: record.subject, phase)
        }
        return begun.count
    }
}
