/// The operator's revocation of the solution, and its end.
extension Simulation {
    /// Revokes the solution, and restores it after a time in microseconds.
    func revokeSolution(for duration: Int64) {
        self.observer.beginsToRevokeSolution()
        self.anyServer?.revokeSolution()
        self.scheduler.schedule(after: duration, in: self.world) { self.restoreSolution() }
    }

    /// Restores the solution as soon as a server is running.
    ///
    /// Does nothing if the solution was never revoked.
    func restoreSolution() {
        guard self.observer.mayHaveRevokedSolution else { return }
        self.observer.beginsToRestoreSolution()
        self.anyServer?.restoreSolution()
        // A command may be refused, or its server may be killed.
        guard !self.observer.isSolutionRestored else { return }
        self.scheduler.schedule(after: 10_000_000, in: self.world) {
            if !self.observer.isSolutionRestored { self.restoreSolution() }
        }
    }
}
