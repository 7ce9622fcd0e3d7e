internal import HostSystem
internal import Lab
internal import LabFiles
internal import Vocabulary

/// Methods that freeze the server and replace its certificate.
extension LabServer {
    /// Suspends the process.
    ///
    /// The kernel still accepts connections on its behalf, but no call is answered.
    func freeze() throws(StepProblem) {
        try self.checkAnswers()
        guard self.halt() else { throw .failed("the server is not running") }
    }

    /// Resumes the process.
    ///
    /// It then catches up with the clock and executes the calls it received in the meantime.
    func thaw() async throws(StepProblem) {
        guard let (calls, time) = self.continue() else { throw .failed("the server is not frozen") }
        if time > .zero { try await self.operate("clock advance", ["byMs": time.milliseconds]) }
        for call in calls { await call() }
    }

    /// Throws if the server is frozen, since it would never answer a command.
    func checkAnswers() throws(StepProblem) {
        if self.isFrozen { throw .failed("the server is frozen; `thaw server` continues it") }
    }

    /// Replaces the certificate and its key.
    ///
    /// A running server loads them for new connections.
    func exchange(_ certificate: ExchangedCertificate) async throws(StepProblem) {
        let (chain, key): (String, String)
        do {
            let authority =
                switch certificate {
                case .renewed, .otherName: try LabAuthority.load(from: self.lab.authorityFolder)
                case .otherAuthority: LabAuthority()
                }
            let names =
                switch certificate {
                case .renewed, .otherAuthority: LabAuthority.serverNames
                case .otherName: ["other.example"]
                }
            (chain, key) = authority.issueTLSServerCertificate(names: names)
            try DurableFile.write(Array(chain.utf8), to: self.lab.certificateFile)
            try DurableFile.write(Array(key.utf8), to: self.lab.certificateKeyFile)
        } catch {
            throw .failed("the certificate cannot be exchanged: \(error)")
        }
        guard self.isRunning, let reply: Reloading = try await self.lookUp("reload") else { return }
        let reasons = reply.parts.compactMap(\.reason)
        guard reasons.isEmpty else {
            throw .failed("the server did not load the certificate: \(reasons.joined(separator: ", "))")
        }
    }
}

/// The failures in the server's reply to `reload`.
private struct Reloading: Decodable {
    let parts: [Part]

    struct Part: Decodable {
        let reason: String?
    }
}
