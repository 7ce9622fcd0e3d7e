import Evidence
import Testing
import Vocabulary

@Suite("Extension data of App Attest")
struct AppAttestExtensionsTests {
    private static let category = "78" + "1c" + Array("apple_validation_category_01".utf8).hex
    private static let version = "77" + Array("apple_bundle_version_01".utf8).hex

    private func read(_ hex: String) throws -> AppAttestExtensions {
        let bytes = try #require([UInt8](hex: hex.filter { $0 != " " }))
        let extensions = try AppAttestExtensions(decoding: bytes[...])
        #expect(extensions.encoded == bytes, "the signed bytes are kept")
        return extensions
    }

    @Test("category and bundle version of iOS 27 are read, as it wrote them")
    func known() throws {
        let extensions = try self.read("a2 \(Self.version) 6431333134 \(Self.category) 4404000000")
        #expect(extensions.validationCategory == .value(.appStore))
        #expect(extensions.bundleVersion == .value("1314"))
        #expect(extensions.novelties.isEmpty)
        #expect(extensions == AppAttestExtensions(validationCategory: .appStore, bundleVersion: "1314"))
        let empty = try self.read("a0")
        #expect(empty.validationCategory == .missing && empty.bundleVersion == .missing && empty.novelties.isEmpty)
    }

    @Test(
        "each well-formed form of unknown data is skipped, and the known values beside it are read",
        arguments: [
            ("a1 6161 f5", [.name]), ("a1 01 02", [.name]), ("a0", [.maps]), ("bf ff", [.maps, .encoding]),
            // A double, a single, a half, undefined, a simple value of two bytes, a tag, nested tags.
            ("a1 6161 fb3ff0000000000000", [.name, .encoding]), ("a1 6161 fa3f800000", [.name, .encoding]),
            ("a1 6161 f93c00", [.name, .encoding]), ("a1 6161 f7", [.name, .encoding]),
            ("a1 6161 f820", [.name, .encoding]), ("a1 6161 c11a00000001", [.name, .encoding]),
            ("a1 6161 c1c2c340", [.name, .encoding]),
            // Indefinite lengths: a map, an array, bytes and text in parts.
            ("bf 6161 01 ff", [.name, .encoding]), ("a1 6161 9f0102ff", [.name, .encoding]),
            ("a1 6161 5f41014102ff", [.name, .encoding]), ("a1 7f6161ff 7fff", [.name, .encoding]),
            // A number and lengths that are not minimal, a key twice, text that is not UTF-8.
            ("a1 6161 1801", [.name, .encoding]), ("b801 780161 01", [.name, .encoding]),
            ("a2 6161 01 6161 02", [.name, .encoding]), ("a1 6161 61ff", [.name, .encoding]),
            // Eight levels.
            ("a1 6161 81818181818101", [.name]),
        ] as [(String, Set<AppAttestExtensions.Novelty>)]
    )
    func later(hex: String, novelties: Set<AppAttestExtensions.Novelty>) throws {
        let known = "a2 \(Self.version) 6131 \(Self.category) 4402000000"
        for text in [known + hex, hex + known] {
            let extensions = try self.read(text)
            #expect(extensions.validationCategory == .value(.testFlight))
            #expect(extensions.bundleVersion == .value("1"))
            #expect(extensions.novelties == novelties.union([.maps]))
        }
    }

    @Test("a known name in another form of text is known")
    func forms() throws {
        let long = "79001c" + Self.category.dropFirst(4)
        let parts = "7f 6161" + "781b" + Self.category.dropFirst(6) + "ff"
        for name in [long, parts] {
            let extensions = try self.read("a1 \(name) 4404000000")
            #expect(extensions.validationCategory == .value(.appStore))
            #expect(extensions.novelties == [.encoding])
        }
    }

    @Test(
        "a known extension in an unknown form, or stated twice, is unreadable and not missing",
        arguments: [
            "a1 CATEGORY 04", "a1 CATEGORY 43040000", "a1 CATEGORY 450400000000", "a1 CATEGORY 6404000000",
            "a1 CATEGORY c14404000000", "a1 CATEGORY f6", "a2 CATEGORY 4404000000 CATEGORY 4404000000",
            "a1 CATEGORY 4404000000 a1 CATEGORY 4402000000",
        ]
    )
    func unreadable(hex: String) throws {
        let extensions = try self.read(hex.replacing("CATEGORY", with: Self.category))
        #expect(extensions.validationCategory == .unreadable)
        #expect(extensions.novelties.contains(.value))
    }

    @Test(
        "a bundle version is 1 to 100 bytes of text",
        arguments: ["01", "60", "61ff", "4131", "7865" + String(repeating: "31", count: 101)]
    )
    func bundleVersion(hex: String) throws {
        #expect(try self.read("a1 \(Self.version) \(hex)").bundleVersion == .unreadable)
    }

    @Test(
        "data that is not well-formed, or not a map, is rejected",
        arguments: [
            "01", "80", "61 61", "c1a0", "a1 01", "a0 ff", "ff", "bf", "bf 01 ff", "bf 01 02", "a1 6161 9f",
            "a1 6161 ff", "a1 6161 5f6161ff", "a1 6161 7f4161ff", "a1 6161 5f5f4101ffff", "a1 6161 1f", "a1 6161 3f",
            "a1 6161 df00",
            "a1 6161 1c", "a1 6161 fc", "a1 6161 fd", "a1 6161 f81f", "a1 6161 f8", "a1 6161 fb3ff0", "a1 6161 c1",
            // Announced lengths beyond the end.
            "a1 6161 5affffffff", "a1 6161 9bffffffffffffffff", "bbffffffffffffffff", "a1 6161 7b7fffffffffffffff",
            // Nine levels, of arrays and of tags.
            "a1 6161 8181818181818101", "a1 6161 c1c1c1c1c1c1c101",
        ]
    )
    func malformed(hex: String) throws {
        let bytes = try #require([UInt8](hex: hex.filter { $0 != " " }))
        #expect(throws: AuthenticatorDataError.extensions) { try AppAttestExtensions(decoding: bytes[...]) }
    }

    @Test("the limits of bytes, items and depth are exact, and cost no more than the bytes")
    func limits() throws {
        func map(of byteCount: Int) -> [UInt8] {
            [0xA1, 0x00, 0x59] + UInt16(byteCount - 5).bigEndianBytes + [UInt8](repeating: 0, count: byteCount - 5)
        }
        let limit = AppAttestExtensions.maximumByteCount
        _ = try AppAttestExtensions(decoding: map(of: limit)[...])
        let bombs: [[UInt8]] = [
            map(of: limit + 1),
            // 1025 items: a map, a key, an array and its elements.
            [0xA1, 0x00, 0x99] + UInt16(1022).bigEndianBytes + [UInt8](repeating: 0, count: 1022),
            [0xA1, 0x00, 0x9F] + [UInt8](repeating: 0, count: 1022) + [0xFF],
            // Parts of a string are items, even if they are empty.
            [0xA1, 0x00, 0x5F] + [UInt8](repeating: 0x40, count: 1022) + [0xFF],
            [UInt8](repeating: 0xA0, count: 1025),
            [UInt8](repeating: 0xBF, count: limit), [UInt8](repeating: 0x9F, count: limit),
            [UInt8](repeating: 0xC1, count: limit), [UInt8](repeating: 0x5F, count: limit),
        ]
        for bomb in bombs {
            #expect(throws: AuthenticatorDataError.extensions) { try AppAttestExtensions(decoding: bomb[...]) }
        }
        _ = try AppAttestExtensions(decoding: ([0xA1, 0x00, 0x9F] + [UInt8](repeating: 0, count: 1021) + [0xFF])[...])
    }
}
