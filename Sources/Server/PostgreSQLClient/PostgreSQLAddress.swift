internal import CPostgreSQL
internal import Glibc

/// The address of a database: the parameters of a connection URI, a string of keywords and values, or a section of a
/// service file.
///
/// libpq's service files are not read, and an environment variable that libpq would use is rejected, so the checked
/// parameters are the ones in use.
package struct PostgreSQLAddress: Hashable, Sendable {
    /// A fault in an address, with its remedy.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The parameters that the address sets, by libpq's keywords.
    private(set) var parameters: [String: String]

    /// Returns whether an environment variable is set.
    package typealias Environment = (_ variable: String) -> Bool

    /// The environment of this process.
    package static let environment: @Sendable (String) -> Bool = { unsafe getenv($0) != nil }

    /// Reads a URI, or a string of keywords and values.
    package init(_ text: String, in environment: Environment = Self.environment) throws(Problem) {
        self.parameters = try Self.parameters(of: text, in: environment)
        try self.rejectOtherPlaces()
    }

    /// Reads a section of a service file (libpq: "The Connection Service File").
    package init(service: String, of text: String, in environment: Environment = Self.environment) throws(Problem) {
        var section: Substring?
        var parameters: [String: String] = [:]
        var isFound = false
        for line in text.split(whereSeparator: \.isNewline).map({ $0.trimmed }) where !line.hasPrefix("#") {
            if line.hasPrefix("["), line.hasSuffix("]") {
                section = line.dropFirst().dropLast()
                isFound = isFound || section == service[...]
            } else if section == service[...], let equals = line.firstIndex(of: "=") {
                let keyword = String(line[..<equals].trimmed)
                parameters[keyword] = String(line[line.index(after: equals)...].trimmed)
            }
        }
        guard isFound else { throw Problem(description: "the service file has no section [\(service)]") }
        // Parsed once more, so that libpq rejects keywords that it does not know.
        self.parameters = try Self.parameters(of: Self.text(of: parameters), in: environment)
        try self.rejectOtherPlaces()
    }

    private static func parameters(of text: String, in environment: Environment) throws(Problem) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        let parsed = unsafe PQconninfoParse(text, &message)
        defer {
            unsafe PQfreemem(message)
            unsafe PQconninfoFree(parsed)
        }
        guard var option = unsafe parsed else {
            let reason = unsafe message.map { unsafe String(cString: $0) } ?? "no memory"
            throw Problem(description: Self.withoutQuotation(reason))
        }
        var parameters: [String: String] = [:]
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe parameters[String(cString: keyword)] = unsafe String(cString: value)
            } else if let name = unsafe option.pointee.envvar {
                // Threat: PGHOSTADDR leads to a different machine than the checked host, and PGSSLMODE disables the
                // check.
                let variable = unsafe String(cString: name)
                guard !environment(variable) else {
                    throw Problem(description: "the environment variable \(variable) would change it; unset it")
                }
            }
            unsafe option += 1
        }
        return parameters
    }

    /// Returns libpq's reason for rejecting a text, without the part that libpq quotes, which may contain a password.
    private static func withoutQuotation(_ reason: String) -> String {
        guard !reason.hasPrefix("invalid connection option"), let start = reason.firstIndex(of: "\""),
            let end = reason.lastIndex(of: "\"")
        else { return String(reason[...].trimmed) }
        let text = "\(reason[..<start])…\(reason[reason.index(after: end)...])"
        return String(text[...].trimmed)
    }

    /// Rejects a password, which belongs in a separate file, and a reference to another source of parameters.
    private func rejectOtherPlaces() throws(Problem) {
        guard self.parameters["password"] == nil else {
            throw Problem(description: "it contains a password; put the password in a separate file")
        }
        guard self.parameters["service"] == nil else {
            throw Problem(description: "it names a service; name the service in `store.service`")
        }
        // Threat: if a password contains an unescaped `/`, libpq parses the rest of it as a port and a database name,
        // which appear in messages.
        let names = self.list("host").map { $0.dropFirst() } + [self.parameters["dbname", default: ""][...]]
        guard !names.contains(where: { $0.contains("@") || $0.contains("://") }),
            self.parameters["port", default: ""].allSatisfy({ ("0"..."9").contains($0) || $0 == "," })
        else {
            throw Problem(
                description: "a host, port or database in it is part of a password or of another address; put the "
                    + "password in a separate file"
            )
        }
    }

    /// The elements of a list parameter, or an empty list if the parameter is not set.
    private func list(_ keyword: String) -> [String] {
        guard let text = self.parameters[keyword], !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// The hosts to connect to.
    ///
    /// An empty one stands for the socket on this machine.
    private var hosts: [String] {
        let (names, addresses) = (self.list("host"), self.list("hostaddr"))
        guard !addresses.isEmpty else { return names }
        // As in libpq, the name is used if the address is empty.
        return addresses.enumerated().map { place, address in
            address.isEmpty && place < names.count ? names[place] : address
        }
    }

    /// Whether a connection may leave this machine.
    package var leavesMachine: Bool {
        self.hosts.contains { host in
            // A name may also begin with 127.
            let isLoopback = host.hasPrefix("127.") && host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
            return
                !(isLoopback || host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost"
                || host == "::1")
        }
    }

    /// The addresses of the individual hosts, in order.
    var ofEachHost: [PostgreSQLAddress] {
        let lists = ["host", "hostaddr", "port"].map { ($0, self.list($0)) }
        let count = max(lists[0].1.count, lists[1].1.count)
        // A single port applies to all hosts. libpq rejects other lists of different lengths.
        let isOneLength = lists.allSatisfy { $1.isEmpty || $1.count == count || ($0 == "port" && $1.count == 1) }
        guard count > 1, isOneLength else { return [self] }
        return (0..<count).map { place in
            var address = self
            for (keyword, values) in lists where values.count == count { address.parameters[keyword] = values[place] }
            return address
        }
    }

    /// The longest time that one of several hosts may take to accept a connection, or nil if not set.
    var hostLimit: Duration? {
        self.parameters["connect_timeout"].flatMap(Int.init).flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    /// Returns the address, changed to verify the server certificate for every connection that leaves this machine.
    ///
    /// Threat: if the server's name is not checked, another machine on the network can pose as the database and report
    /// that a wrong PIN was counted. `sslmode=require` encrypts but checks nothing.
    package func verified() throws(Problem) -> PostgreSQLAddress {
        guard self.leavesMachine else { return self }
        var address = self
        let mode = self.parameters["sslmode"] ?? "verify-full"
        guard mode == "verify-full" else {
            throw Problem(
                description: "sslmode is \(mode), with which another machine can pose as the database; "
                    + "use verify-full, or leave it out"
            )
        }
        address.parameters["sslmode"] = mode
        return address
    }

    /// The files that libpq reads for each connection, apart from that of the password.
    package var files: [String] {
        ["sslrootcert", "sslcert", "sslkey", "sslcrl"].compactMap { self.parameters[$0] }
            .filter { !$0.isEmpty && $0 != "system" }
    }

    /// The address as libpq reads it.
    var text: String { Self.text(of: self.parameters) }

    private static func text(of parameters: [String: String]) -> String {
        parameters.sorted { $0.key < $1.key }.map { keyword, value in
            var quoted = ""
            for character in value {
                if character == "'" || character == "\\" { quoted.append("\\") }
                quoted.append(character)
            }
            return "\(keyword)='\(quoted)'"
        }.joined(separator: " ")
    }
}

extension PostgreSQLAddress: CustomStringConvertible {
    /// The hosts and the database, for messages.
    package var description: String {
        let hosts = (self.parameters["host"] ?? self.parameters["hostaddr"]) ?? "this machine"
        let ports = self.parameters["port"].map { " port \($0)" } ?? ""
        return "\(self.parameters["dbname"].map { "\($0) on " } ?? "")\(hosts)\(ports)"
    }
}

extension PostgreSQLTarget {
    /// The database at a checked address.
    package init(_ address: PostgreSQLAddress, password: String?) {
        self.init(address: address.text, password: password)
    }
}

extension Substring {
    /// The text without leading and trailing spaces.
    fileprivate var trimmed: Substring {
        var text = self.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

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
