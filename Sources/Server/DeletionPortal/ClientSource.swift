internal import ServerSettings
internal import Transport

/// Whom a request comes from, as far as limits are concerned.
///
/// X-Forwarded-For is a list to which each proxy adds the address it sees at the end. What stands further in front was
/// written by whoever sent the request, so only the tail that proxies of ours wrote is believed: from the connection
/// backwards, as long as the writer is trusted.
struct ClientSource {
    private let trusted: [AddressRange]

    init(trusting proxies: [AddressRange]) {
        self.trusted = proxies
    }

    /// The source of a request.
    ///
    /// - Parameters:
    ///   - peer: the connection's address; nil has no source.
    ///   - forwardedFor: the X-Forwarded-For fields in the order in which they came.
    func source(peer: String?, forwardedFor: [String]) -> PeerSource? {
        guard let peer, var source = PeerSource(address: peer) else { return nil }
        guard self.isTrusted(peer) else { return source }
        let entries = forwardedFor.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for entry in entries.reversed() {
            // A proxy that writes what is no address leaves the proxy itself as the last one known.
            guard let address = Self.address(entry), let next = PeerSource(address: address) else { break }
            source = next
            guard self.isTrusted(address) else { break }
        }
        return source
    }

    private func isTrusted(_ address: String) -> Bool {
        self.trusted.contains { $0.contains(address) }
    }

    /// An entry's address; some proxies add a port, and then brackets around an IPv6 address.
    private static func address(_ entry: Substring) -> String? {
        let text = entry.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
        let address = String(text)
        if address.hasPrefix("[") {
            guard let end = address.firstIndex(of: "]") else { return nil }
            return String(address[address.index(after: address.startIndex)..<end])
        }
        let colons = address.utf8.count { $0 == UInt8(ascii: ":") }
        return colons == 1 ? String(address.prefix { $0 != ":" }) : address
    }
}
