import Testing

@testable import DeletionPortal

@Suite("Codes as people type them")
struct TypedCodeTests {
    @Test(
        "case, dashes and spaces of any kind do not matter, I and L are read as 1, O as 0",
        arguments: [
            "4K7W-9Q2M-XH3T-0B8R-1Z", "4k7w9q2mxh3t0b8r1z", " 4K7W 9Q2M XH3T 0B8R 1Z\r\n", "4K7W–9Q2M—XH3T‑0B8R−1Z",
            "4K7W\u{A0}9Q2M\u{2009}XH3T\t0B8R\u{200B}1Z", "4K7W-9Q2M-XH3T-OB8R-IZ", "4k7w-9q2m-xh3t-ob8r-lz",
            "\u{FEFF}4K7W-9Q2M-XH3T-0B8R-1Z", "----4K7W9Q2MXH3T0B8R1Z----",
        ]
    )
    func forgiven(text: String) {
        #expect(TypedCode(text) == TypedCode(TestDesk.code))
        #expect(TypedCode(text).asked == "4K7W9Q2MXH3T0B8R1Z" && TypedCode(text).shown == TestDesk.code)
    }

    @Test(
        "text that cannot be a code is shown on one line, cut to 64 characters, and never sent to the server",
        arguments: [
            ("my  secret\u{0}\r\nphrase", "my secret phrase"), ("4K7W-9Q2M", "4K7W-9Q2M"),
            ("4K7W-9Q2M-XH3T-0B8R-1ZZ", "4K7W-9Q2M-XH3T-0B8R-1ZZ"),
            ("4K7W_9Q2M_XH3T_0B8R_1Z", "4K7W_9Q2M_XH3T_0B8R_1Z"),
            (String(repeating: "é", count: 2000), String(repeating: "é", count: 64)), ("", ""),
        ]
    )
    func unreadable(text: String, shown: String) {
        #expect(TypedCode(text).shown == shown && TypedCode(text).isEmpty == shown.isEmpty)
        #expect(TypedCode(text).asked == "UUUUUUUUUUUUUUUUUU")
    }
}
