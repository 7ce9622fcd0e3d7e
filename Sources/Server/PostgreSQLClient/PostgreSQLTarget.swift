/// The database that a connection is opened to.
package struct PostgreSQLTarget: Sendable {
    /// A connection URI or a string of keywords and values (libpq: "Connection Strings").
    package var address: String
    /// The password, if it is not in the address.
    package var password: String?
    package var applicationName: String

    package init(address: String, password: String? = nil, applicationName: String = "remote-pin-server") {
        self.address = address
        self.password = password
        self.applicationName = applicationName
    }

    /// libpq's parameters for each host in the address, in order, and the longest time that one of several hosts may
    /// take to accept a connection.
    ///
    /// Later parameters override those in the address. The time is nil if the address sets none. libpq's non-blocking
    /// calls move on to the next host only if one refuses a connection. If a host is frozen or switched off, they would
    /// wait for it until the caller's limit, and start with it again each time.
    var hosts: (parameters: [[(keyword: String, value: String)]], limit: Duration?) {
        // If libpq cannot read the address, the connection fails with libpq's reason.
        let parsed = try? PostgreSQLAddress(self.address)
        return ((parsed?.ofEachHost.map(\.text) ?? [self.address]).map(self.parameters), parsed?.hostLimit)
    }

    /// Paths of no files, for the files that libpq otherwise looks for in the user's home.
    ///
    /// A home that the user may not read, such as `/nonexistent` made by another user, would end each TLS connection:
    /// libpq accepts only that a file is missing. No file that the address does not name takes part in a connection.
    private static let noFiles = ["sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile"].map { keyword in
        (keyword: keyword, value: "/dev/null/\(keyword)")
    }

    private func parameters(_ address: String) -> [(keyword: String, value: String)] {
        // Parameters before the address apply unless it sets them.
        var parameters: [(keyword: String, value: String)] =
            Self.noFiles + [
                ("dbname", address),
                ("application_name", self.applicationName),
                ("client_encoding", "UTF8"),
                ("gssencmode", "disable"),
                // If there are several hosts, use only the one that accepts writes.
                ("target_session_attrs", "read-write"),
            ]
        if let password { parameters.append(("password", password)) }
        return parameters
    }
}
