internal import AdminProtocol
internal import HostSystem
internal import ServerCommandLine
internal import ServerSettings
internal import Transport

extension ServerFiles {
    /// The faults in the current certificate.
    ///
    /// A start only logs them as warnings, since a stopped server is no use to wallets. ``reloadTLS()`` rejects such a
    /// certificate.
    var certificateProblems: [Problem] { Self.certificateProblems(self.tls, self.settings) }

    static func certificateProblems(_ tls: TLSServerContext, _ settings: ServerSettings) -> [Problem] {
        // Use the system clock, even in a lab: wallets verify certificates by their phones' clocks.
        tls.faults(at: SystemClock().now()).map { fault in
            let path = settings[SettingTable.tlsCertificate]
            return Problem(
                "`tls.certificate`: \(path): \(fault.text)",
                cure: "install a renewed certificate and run `admin reload`"
            )
        }
    }

    /// Reloads the certificate and key.
    ///
    /// The rules are those of a start, so that the next start also accepts them. A certificate that wallets would
    /// reject never replaces one that they accept.
    func reloadTLS() throws {
        try Self.lookAtTLSFiles(of: self.settings)
        try mapError(self.tls.reload(at: SystemClock().now()), to: Self.failure)
    }

    /// Converts a problem with a certificate or key into an error message for the operator.
    static func failure(_ error: TLSContextError) -> StartFailure {
        let text =
            switch error {
            case .certificate(let path, let reason): "`tls.certificate`: \(path) cannot be used: \(reason)"
            case .key(let path, let reason): "`tls.key`: \(path) cannot be used: \(reason)"
            case .keyOfAnotherCertificate(let path): "`tls.key`: \(path) is not the key of `tls.certificate`"
            case .faults(let path, let faults):
                "`tls.certificate`: wallets reject \(path): \(faults.map(\.text).joined(separator: "; "))"
            case .trust, .serverName: "cannot use the certificate"
            }
        return StartFailure(.configuration, text)
    }
}

extension CertificateFault {
    fileprivate var text: String {
        switch self {
        case .expired(let place, let since): "\(Self.name(place)) expired on \(since.text)"
        case .expiresSoon(let place, let end): "\(Self.name(place)) expires soon, on \(end.text)"
        case .notYetValid(let place, let start): "\(Self.name(place)) is not valid before \(start.text)"
        case .otherIssuer(let place):
            "\(Self.name(place)) was not issued by certificate \(place + 1) of the file; the server's certificate "
                + "comes first, then its issuer, and so on"
        case .noNames: "the certificate has no subject alternative name, and wallets ignore the common name"
        }
    }

    private static func name(_ place: Int) -> String {
        place == 1 ? "the certificate" : "certificate \(place) of the file"
    }
}
