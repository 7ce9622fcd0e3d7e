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

    /// libpq's parameters; later ones replace those of the address.
    var parameters: [(keyword: String, value: String)] {
        var parameters = [
            ("dbname", self.address),
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
