internal import Evidence

extension LabAuthority {
    /// The names in the certificate of a lab's server.
    package static let serverNames = ["localhost", "127.0.0.1", "::1"]

    /// Issues a certificate for a TLS server and returns it with its key, both in PEM format.
    ///
    /// The chain only contains the server's certificate, whose issuer is the root pinned by wallets.
    ///
    /// - Parameter names: Host names and IP addresses.
    package func issueTLSServerCertificate(names: [String]) -> (chainPEM: String, keyPEM: String) {
        let key = SigningKey()
        let addresses = names.compactMap(Self.address)
        let hosts = names.filter { Self.address($0) == nil }
        let template = CertificateTemplate(
            serialNumber: LabSerial.random(),
            subject: DistinguishedName(commonName: names.first ?? "lab", organization: LabIssuer.organization),
            validity: LabDates.authority,
            publicKey: key.publicKey,
            extensions: [
                .signsData, .servesTLS, .serverNames(hosts: hosts, addresses: addresses),
                .authorityKey(self.tlsAuthority.key.publicKey),
            ]
        )
        return (PEM.certificates([self.tlsAuthority.issue(template)]), key.pem)
    }

    /// The authority for TLS servers in PEM format, to be pinned by wallets.
    package var tlsAuthorityPEM: String { PEM.certificates([self.tlsAuthority.certificate]) }

    /// Returns the bytes of an IPv4 or IPv6 address, or nil for a host name.
    static func address(_ name: String) -> [UInt8]? {
        name.contains(":") ? self.version6(name) : self.version4(name)
    }

    private static func version4(_ name: String) -> [UInt8]? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { UInt8($0) }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ name: String) -> [UInt8]? {
        let halves = name.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let groups = halves.map { $0.split(separator: ":").map { UInt16($0, radix: 16) } }
        let head = groups[0].compactMap { $0 }
        let tail = groups.dropFirst().first?.compactMap { $0 } ?? []
        let missing = 8 - head.count - tail.count
        guard groups.allSatisfy({ $0.allSatisfy { $0 != nil } }), halves.count == 2 ? missing > 0 : missing == 0
        else { return nil }
        let all = head + Array(repeating: 0, count: missing) + tail
        return all.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}
