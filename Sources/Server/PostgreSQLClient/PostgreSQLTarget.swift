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

    /// libpq's parameters for each host of the address, in order, in which later ones replace those of the address; and
    /// the longest time that one of several hosts may take to accept a connection, nil if the address sets none.
    ///
    /// libpq's non-blocking calls go on to the next host only if one refuses a connection. They would wait for a host
    /// that is frozen or switched off until the caller's limit, and begin with it again each time.
    var hosts: (parameters: [[(keyword: String, value: String)]], limit: Duration?) {
        // With an address that libpq cannot read, the connection fails with libpq's reason.
        let parsed = try? PostgreSQLAddress(self.address)
        return ((parsed?.ofEachHost.map(\.text) ?? [self.address]).map(self.parameters), parsed?.hostLimit)
    }

    private func parameters(_ address: String) -> [(keyword: String, value: String)] {
        var parameters: [(keyword: String, value: String)] = [
            ("dbname", address),
            ("application_name", self.applicationName),
            ("client_encoding", "UTF8"),
            ("gssencmode", "disable"),
            // With several hosts, only the one that accepts writes.
            ("target_session_attrs", "read-write"),
        ]
        if let password { parameters.append(("password", password)) }
        return parameters
    }
}
