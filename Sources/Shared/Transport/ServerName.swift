internal import COpenSSL

/// A server's DNS name or IP address.
enum ServerName: Hashable, Sendable {
    case dns(String)
    case address(String)

    /// Parses a name or an address.
    ///
    /// Returns nil for any other text.
    init?(_ text: String) {
        guard (1...253).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        if let octets = unsafe a2i_IPADDRESS(text) {
            unsafe ASN1_OCTET_STRING_free(octets)
            self = .address(text)
        } else {
            ERR_clear_error()
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isName else { return nil }
            self = .dns(text)
        }
    }
}
