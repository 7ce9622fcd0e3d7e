import Testing

@testable import WalletFlows

@Suite("The normal form of URLs (RFC 3986)")
struct WebAddressTests {
    private static let base = "https://wallet.example.org/link"

    /// A URL, and its normal form or nil if it is refused.
    private static let addresses: [(String, String?)] = [
        // RFC 3986, §1.1.2, §6.2.2, §6.2.3 and appendix B.
        ("eXAMPLE://a/./b/../b/%63/%7bfoo%7d", "example://a/b/c/%7Bfoo%7D"),
        ("example://a/b/c/%7Bfoo%7D", "example://a/b/c/%7Bfoo%7D"),
        ("HTTP://www.EXAMPLE.com/", "http://www.example.com/"), ("http://example.com", "http://example.com/"),
        ("http://example.com/", "http://example.com/"), ("http://example.com:/", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"), ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("ftp://ftp.is.co.za/rfc/rfc1808.txt", "ftp://ftp.is.co.za/rfc/rfc1808.txt"),
        ("ldap://[2001:DB8::7]/c=GB?objectClass?one", "ldap://[2001:db8::7]/c=GB?objectClass?one"),
        ("telnet://192.0.2.16:80/", "telnet://192.0.2.16:80/"), ("mailto:John.Doe@example.com", nil),
        ("tel:+1-816-555-1212", nil), ("urn:oasis:names:specification:docbook:dtd:xml:4.1.2", nil),
        ("http://www.ics.uci.edu/pub/ietf/uri/#Related", "http://www.ics.uci.edu/pub/ietf/uri/#Related"),
        ("foo://example.com:8042/over/there?name=ferret#nose", "foo://example.com:8042/over/there?name=ferret#nose"),
        // §7.6: the host is not cnn.example.com.
        ("ftp://cnn.example.com&story=breaking_news@10.0.0.1/top_story.htm", nil),
        // §5.2.4 and §5.4, resolved against http://a/b/c/d;p?q.
        ("http://a/b/c/./../../g", "http://a/g"), ("http://a/b/c/./g", "http://a/b/c/g"),
        ("http://a/b/c/.", "http://a/b/c/"), ("http://a/b/c/..", "http://a/b/"), ("http://a/b/c/../..", "http://a/"),
        ("http://a/b/c/../../../g", "http://a/g"), ("http://a/b/c/../../../../g", "http://a/g"),
        ("http://a/b/c/g.", "http://a/b/c/g."), ("http://a/b/c/.g", "http://a/b/c/.g"),
        ("http://a/b/c/g..", "http://a/b/c/g.."), ("http://a/b/c/..g", "http://a/b/c/..g"),
        ("http://a/b/c/g;x=1/./y", "http://a/b/c/g;x=1/y"), ("http://a/b/c/g;x=1/../y", "http://a/b/c/y"),
        ("http://a/b/c/g?y/./x", "http://a/b/c/g?y/./x"), ("http://a/b/c/g#s/../x", "http://a/b/c/g#s/../x"),
        ("http://a/b//../c", "http://a/b/c"), ("http://a/../", "http://a/"), ("http://a//", "http://a//"),
        // Characters and encodings.
        ("http://a/%7Euser%2F%2f", "http://a/~user%2F%2F"), ("http://a/%25%32%65", "http://a/%252e"),
        ("http://a/%", nil), ("http://a/%4", nil), ("http://a/%zz", nil), ("http://a/%0", nil), ("http://a/%+1", nil),
        ("http://a/%00", nil), ("http://a/?%0A", nil), ("http://a/#%7f", nil), ("http://a/\u{7F}", nil),
        ("http://a/\n", nil), (" http://a/", nil), ("http://a/b c", nil), ("http://a/\\b", nil), ("http://a/é", nil),
        ("http://a/<>", nil), ("http://a/\"", nil), ("http://a/{x}|^`", nil), ("http://a/[b]", nil),
        ("http://a/#b#c", nil), ("http://a/%C3%a9", "http://a/%C3%A9"), ("http://ä/", nil), ("http://%C3%A4/", nil),
        // Authorities.
        ("http://user@a/", nil), ("http://user:password@a/", nil), ("http://@a/", nil), ("http:///a", nil),
        ("http://:80/", nil), ("http://a:x/", nil), ("http://a:65536/", nil), ("http://a:080/", "http://a/"),
        ("http://a:1:2/", nil), ("http://[::1]:80/", "http://[::1]/"), ("http://[::1/", nil), ("http://a%40b/", nil),
        ("http://a./", "http://a./"), ("//a/b", nil), ("/b", nil), ("", nil), ("1http://a/", nil), ("http:/a", nil),
    ]

    @Test("equivalent URLs have one normal form, and anything that is not a URL with a host is refused")
    func table() {
        #expect(Self.addresses.count >= 60)
        for (text, normal) in Self.addresses {
            #expect(WebAddress(text)?.description == normal, "\(text)")
            if let normal { #expect(WebAddress(normal)?.description == normal, "\(normal)") }
        }
    }

    @Test("every spelling of a link has the kind of its path, and the host application gets its normal form")
    func spellings() {
        let normal = "https://wallet.example.org/link/sharing/4711"
        for url in [
            normal, "HTTPS://wallet.example.org/link/sharing/4711", "https://WALLET.EXAMPLE.ORG/link/sharing/4711",
            "https://wallet.example.org:443/link/sharing/4711", "https://wallet.example.org:/link/sharing/4711",
            "https://wallet.example.org/link/%73haring/4711", "https://wallet.example.org/link/./sharing/4711",
            "https://wallet.example.org/link/login/../sharing/4711",
            "https://wallet.example.org/link/login/%2E%2e/sharing/4711",
            "https://wallet.example.org/x/../link/sharing/4711",
        ] {
            #expect(WalletLink(url, below: Self.base)?.url == normal, "\(url)")
            #expect(WalletLink(url, below: Self.base)?.kind == .sharing, "\(url)")
        }
        for url in [
            "https://wallet.example.org./link/sharing/1", "http://wallet.example.org/link/sharing/1",
            "https://wallet.example.org:8443/link/sharing/1", "https://wallet.example.org//link/sharing/1",
            "https://wallet.example.org/link//sharing/1", "https://wallet.example.org/link/sharing;v=1/1",
            "https://wallet.example.org/link/%2573haring/1", "https://wallet.example.org/link%2Fsharing/1",
            "https://wallet.example.org/link/sharing%2F1", "https://wallet.example.org/LINK/sharing/1",
            "https://wallet.example.org/link/sharing/../../admin/wipe", "https://wallet.example.org/link/sharing/..",
            "https://wallet.example.org@evil.example/link/sharing/1", "nlwallet://wallet.example.org/link/sharing/1",
        ] {
            #expect(WalletLink(url, below: Self.base) == nil, "\(url)")
        }
    }

    @Test("a URL of at most 4096 bytes is accepted")
    func length() {
        let start = "https://wallet.example.org/link/sharing/"
        let padding = String(repeating: "a", count: 4096 - start.utf8.count)
        #expect(WalletLink(start + padding, below: Self.base)?.url == start + padding)
        #expect(WalletLink(start + padding + "a", below: Self.base) == nil)
    }
}
