internal import ServerSettings
internal import Transport

/// Determines the source that limits are applied to, from a request's connection and X-Forwarded-For.
///
/// Each proxy appends the address of its peer to X-Forwarded-For, and a client can add any entries before those. The
/// entries are therefore read from the end, and an entry is used only if a trusted proxy wrote it.
struct ClientSource {
    private let trusted: [AddressRange]

    init(trusting proxies: [AddressRange]) {
        self.trusted = proxies
    }

    /// Returns the source of a request.
    ///
    /// - Parameters:
    ///   - peer: The address of the connection. If nil, the result is nil.
    ///   - forwardedFor: The X-Forwarded-For fields, in order.
    func source(peer: String?, forwardedFor: [String]) -> PeerSource? {
        guard let peer, var source = PeerSource(address: peer) else { return nil }
        guard self.isTrusted(peer) else { return source }
        let entries = forwardedFor.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for entry in entries.reversed() {
            // If a proxy wrote an invalid address, the last known address is that proxy's.
            guard let address = Self.address(entry), let next = PeerSource(address: address) else { break }
            source = next
            guard self.isTrusted(address) else { break }
        }
        return source
    }

    private func isTrusted(_ address: String) -> Bool {
        self.trusted.contains { $0.contains(address) }
    }

    /// Parses the address in an entry.
    ///
    /// Some proxies add a port, and brackets around an IPv6 address.
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
