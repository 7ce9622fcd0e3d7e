import Testing

@testable import HostSystem

@Suite("Addresses to listen on")
struct ListenAddressTests {
    @Test("`::` serves IPv4 on a machine without IPv6, and no other address is replaced")
    func fallback() {
        #expect(ListenAddress.host("::", hasIPv6: false) == "0.0.0.0")
        #expect(ListenAddress.host("::", hasIPv6: true) == "::")
        for host in ["::1", "127.0.0.1", "localhost"] { #expect(ListenAddress.host(host, hasIPv6: false) == host) }
    }

    @Test("a reason has plain words and the errno")
    func reason() {
        #expect(ListenAddress.reason(97) == "this machine has no IPv6; name an IPv4 address (EAFNOSUPPORT)")
        #expect(ListenAddress.text("::", 7400) == "[::]:7400")
    }
}
