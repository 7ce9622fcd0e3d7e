internal import Glibc

/// The addresses that a server listens on, and plain reasons why it cannot.
package enum ListenAddress {
    /// Whether this machine has IPv6 (ipv6(7)).
    package static var machineHasIPv6: Bool {
        let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        close(descriptor)
        return true
    }

    /// Returns the address to listen on, which is that of all IPv4 interfaces if `::` is configured on a machine
    /// without IPv6.
    ///
    /// So one configuration serves both families wherever they exist.
    package static func host(_ configured: String, hasIPv6: Bool = Self.machineHasIPv6) -> String {
        configured == "::" && !hasIPv6 ? "0.0.0.0" : configured
    }

    /// Returns HOST:PORT, with brackets around an IPv6 address.
    package static func text(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the reason for an errno(3) of socket(2) or bind(2).
    package static func reason(_ code: Int32) -> String {
        let words =
            switch code {
            case EADDRINUSE: "another process listens there"
            case EADDRNOTAVAIL: "this machine does not have that address"
            case EAFNOSUPPORT: "this machine has no IPv6; name an IPv4 address"
            case EACCES, EPERM: "this user may not listen there"
            default: ""
            }
        return words.isEmpty ? SystemCall.text(of: code) : "\(words) (\(SystemCall.name(of: code)))"
    }
}
