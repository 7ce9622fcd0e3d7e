import Testing
import Vocabulary

@Suite("Byte values of fixed length")
struct IdentifierTests {
    @Test("only the right length makes a value", arguments: [0, 1, 15, 17, 32])
    func length(count: Int) {
        #expect(WalletID([UInt8](repeating: 1, count: count)) == nil)
        #expect(WalletID(repeatElement(1, count: count)) == nil)
    }

    @Test("bytes of the right length give the value, from any kind of sequence")
    func sequences() {
        let bytes = (1...16).map(UInt8.init)
        #expect(WalletID(bytes)?.bytes == bytes)
        #expect(WalletID(([0] + bytes).dropFirst())?.bytes == bytes)
    }

    @Test("values are equal if all bytes are equal")
    func equality() throws {
        let bytes = (1...16).map(UInt8.init)
        let value = try #require(WalletID(bytes))
        #expect(value == WalletID(bytes + []))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(value != WalletID(other))
        }
    }

    @Test("every byte contributes to the hash, including those after the last group of eight")
    func hash() throws {
        let bytes = [4] + (1...64).map(UInt8.init)
        let key = try #require(P256PublicKey(bytes))
        #expect(key.hashValue == P256PublicKey(bytes + [])?.hashValue)
        for index in bytes.indices.dropFirst() {
            var other = bytes
            other[index] ^= 1
            #expect(key.hashValue != P256PublicKey(other)?.hashValue, "byte \(index)")
        }
    }

    @Test("a public key begins with 0x04")
    func publicKey() {
        #expect(P256PublicKey([4] + [UInt8](repeating: 1, count: 64)) != nil)
        #expect(P256PublicKey([2] + [UInt8](repeating: 1, count: 64)) == nil)
        #expect(P256PublicKey(([0, 2] + [UInt8](repeating: 1, count: 64)).dropFirst()) == nil)
    }

    @Test("hexadecimal reads back what it wrote, in either case")
    func hexadecimal() throws {
        let id = WalletID.random()
        #expect(WalletID(hex: id.description) == id)
        #expect(WalletID(hex: id.description.uppercased()) == id)
        #expect(WalletID(hex: "zz" + id.description.dropFirst(2)) == nil)
        #expect([UInt8](hex: "abc") == nil)
    }
}

@Suite("The deletion code")
struct DeletionCodeTests {
    @Test("case, dashes and look-alike letters make no difference")
    func reading() throws {
        let code = try #require(DeletionCode("01ABCDEFGHJKMNPQRS"))
        #expect(DeletionCode("olab-cdef-ghjk-mnpq-rs") == code)
        #expect(DeletionCode("OIAB CDEF GHJK MNPQ RS") == code)
        #expect(code.grouped == "01AB-CDEF-GHJK-MNPQ-RS")
    }

    @Test("every blank, dash, control and format character of Unicode is a separator, and no other character is")
    func separators() {
        let code = "01ABCDEFGHJKMNPQRS"
        for value in Array(0..<0x3100) + Array(0xFE00..<0x10000) + [0x10D6E, 0x10EAD, 0x1D173, 0xE0001, 0xE0100] {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let properties = scalar.properties
            let isSeparator =
                properties.isWhitespace || properties.isDash || properties.generalCategory == .control
                || properties.generalCategory == .format
            #expect((DeletionCode(code + String(scalar)) != nil) == isSeparator, "U+\(String(value, radix: 16))")
        }
    }

    @Test(
        "another length, another letter or a look-alike is not a code",
        arguments: [
            "", "01ABCDEFGHJKMNPQR", "01ABCDEFGHJKMNPQRSS", "U1ABCDEFGHJKMNPQRS", "0ıABCDEFGHJKMNPQRS",
            "01ABCDEFGHJ\u{212A}MNPQRS", "01ABCDEFGHJKMNPQRſ", "０１ABCDEFGHJKMNPQRS", "01ABCDEFGHJKMNPQRS.",
            "01ABCDEFGHJKMNPQRS\u{301}", "٠١ABCDEFGHJKMNPQRS", "01АBCDEFGHJKMNPQRS",
        ]
    )
    func refused(text: String) {
        #expect(DeletionCode(text) == nil)
    }

    @Test("a new code is read back, and each one is different")
    func random() {
        let codes = (0..<100).map { _ in DeletionCode.random() }
        #expect(Set(codes).count == 100)
        for code in codes { #expect(DeletionCode(code.grouped) == code) }
    }

    @Test("a code does not print itself")
    func printing() {
        let code = DeletionCode.random()
        #expect(!"\(code)".contains(code.characters) && !String(reflecting: code).contains(code.characters))
    }
}
