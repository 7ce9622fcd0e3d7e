import Testing

@testable import HostSystem

@Suite("The Host field of a request")
struct HostFieldTests {
    @Test(
        "names, addresses and ports are accepted as RFC 9112 defines them",
        arguments: [
            "", "localhost", "pin.example.org", "pin.example.org:443", "a:", ":80", "127.0.0.1:9464", "[::1]",
            "[2001:db8::1]:65535", "[::ffff:192.0.2.1]", "a_b~c", "xn--bcher-kva.example", "%C3%BC", "a!$&'()*+,;=",
        ]
    )
    func valid(value: String) { #expect(HostField.isValid(value)) }

    @Test(
        "anything else is not",
        arguments: [
            " ", "a b", "a/b", "a?b", "a#b", "user@a", "http://a", "a:b", "a:80:81", "a:65536", "a:-1", "a:+1", "::1",
            "[::1", "[::1]a", "[::1]:x", "[]", "[127.0.0.1]", "[::1%eth0]", "[::1%25eth0]", "a]", "a%2", "a%zz", "ü",
            "a\u{0}", "a\tb", "a,b c", "a\\b", "\"a\"", "<a>", "a:99999999999999999999",
        ]
    )
    func invalid(value: String) { #expect(!HostField.isValid(value)) }
}
