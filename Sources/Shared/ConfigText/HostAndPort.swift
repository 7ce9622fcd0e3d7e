/// A host and a port, such as `pin.example.org:7400`, `0.0.0.0:7400` or `[::1]:7400`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// The port.
    ///
    /// When listening, 0 lets the system choose one.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses HOST:PORT.
    ///
    /// An IPv6 address must be in brackets.
    package init?(_ text: String, ports: ClosedRange<Int> = 0...65_535) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            ports.contains(port)
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.init(host: host, port: port)
    }

    /// Whether no process can listen on another address while one listens on this one.
    ///
    /// Names are not looked up. Two listeners with port 0 get different ports.
    package func excludes(_ other: HostAndPort) -> Bool {
        let wildcards: Set = ["0.0.0.0", "::"]
        return self.port == other.port && self.port != 0
            && (self.host == other.host || wildcards.contains(self.host) || wildcards.contains(other.host))
    }

    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

extension Kind where Value == HostAndPort {
    /// - Parameter example: An example address, for messages and the manual.
    package static func address(ports: ClosedRange<Int> = 0...65_535, _ example: String) -> Kind {
        .word("address", "HOST:PORT, such as \(example)", read: { HostAndPort($0, ports: ports) }, write: { "\($0)" })
    }
}
