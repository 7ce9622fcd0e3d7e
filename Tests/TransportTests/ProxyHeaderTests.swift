import TestSupport
import Testing

@testable import Transport

/// An encoder of valid and invalid headers.
enum ProxyHeaderBytes {
    static let signature = ProxyHeader.signature
    static let ipv4: [UInt8] = [192, 0, 2, 7, 198, 51, 100, 1, 0x1F, 0x90, 0x01, 0xBB]
    static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8, 0, 1, 0, 2] + [0, 0, 0, 0, 0, 0, 0, 9] + [0x20, 0x01, 0x0D, 0xB8]
        + [UInt8](repeating: 1, count: 12) + [0x1F, 0x90, 0x01, 0xBB]
    /// A TLV of AWS and HAProxy's unique id, which the server ignores.
    static let extras: [UInt8] = [0xEA, 0, 3, 1, 2, 3, 0x05, 0, 1, 0x41]

    static func header(_ family: UInt8, _ body: [UInt8], length: Int? = nil) -> [UInt8] {
        self.header(0x21, family, body, length: length)
    }

    static func header(_ version: UInt8, _ family: UInt8, _ body: [UInt8], length: Int? = nil) -> [UInt8] {
        let length = length ?? body.count
        return Self.signature + [version, family, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }
}

@Suite("A load balancer's header")
struct ProxyHeaderTests {
    private typealias Bytes = ProxyHeaderBytes

    /// Valid headers and their origins.
    static let good: [(bytes: [UInt8], origin: ProxyHeader.Origin)] = [
        (Bytes.header(0x11, Bytes.ipv4), .address([192, 0, 2, 7], port: 8080)),
        (Bytes.header(0x11, Bytes.ipv4 + Bytes.extras), .address([192, 0, 2, 7], port: 8080)),
        (Bytes.header(0x21, Bytes.ipv6), .address(Array(Bytes.ipv6.prefix(16)), port: 8080)),
        (Bytes.header(0x21, Bytes.ipv6 + Bytes.extras), .address(Array(Bytes.ipv6.prefix(16)), port: 8080)),
        (Bytes.header(0x00, []), .unknown), (Bytes.header(0x00, Bytes.ipv4 + Bytes.extras), .unknown),
        (Bytes.header(0x20, 0x00, []), .local), (Bytes.header(0x20, 0x11, Bytes.ipv4), .local),
        (Bytes.header(0x20, 0x31, [1, 2, 3]), .local), (Bytes.header(0x20, 0xFF, []), .local),
        (
            Bytes.header(0x11, Bytes.ipv4 + [UInt8](repeating: 7, count: ProxyHeader.longestByteCount - 28)),
            .address([192, 0, 2, 7], port: 8080)
        ),
    ]

    @Test("a header is accepted when it is complete, and the bytes after it are not read", arguments: good.indices)
    func whole(index: Int) throws {
        let (bytes, origin) = Self.good[index]
        for count in 0..<bytes.count {
            #expect(try ProxyHeader(of: bytes.prefix(count)) == nil, "after \(count) bytes")
        }
        for behind: [UInt8] in [[], [0x16], Bytes.signature, [UInt8](repeating: 0, count: 300)] {
            let header = try #require(try ProxyHeader(of: bytes + behind))
            #expect(header.origin == origin)
            #expect(header.byteCount == bytes.count)
        }
    }

    /// Invalid headers, the reasons, and the number of bytes after which each is known to be invalid.
    static let bad: [(bytes: [UInt8], fault: ProxyHeaderFault, knownAfter: Int)] = [
        (Array("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n".utf8), .notAHeader, 1),
        ([0x16, 3, 1, 2, 0, 1], .notAHeader, 1), (Array("\r\n\r\nGET".utf8), .notAHeader, 5),
        (Bytes.header(0x01, 0x11, Bytes.ipv4), .version, 13), (Bytes.header(0x31, 0x11, Bytes.ipv4), .version, 13),
        (Bytes.header(0xF0, 0x11, Bytes.ipv4), .version, 13), (Bytes.header(0x22, 0x11, Bytes.ipv4), .command, 13),
        (Bytes.header(0x2F, 0x00, []), .command, 13), (Bytes.header(0x12, Bytes.ipv4), .family, 14),
        (Bytes.header(0x22, Bytes.ipv6), .family, 14), (Bytes.header(0x31, [1]), .family, 14),
        (Bytes.header(0x10, Bytes.ipv4), .family, 14), (Bytes.header(0x01, Bytes.ipv4), .family, 14),
        (Bytes.header(0x11, [], length: 11), .tooShort, 16), (Bytes.header(0x11, [], length: 0), .tooShort, 16),
        (Bytes.header(0x21, [], length: 35), .tooShort, 16), (Bytes.header(0x21, [], length: 12), .tooShort, 16),
        (Bytes.header(0x11, [], length: ProxyHeader.longestByteCount - 15), .tooLong, 16),
        (Bytes.header(0x00, [], length: 65_535), .tooLong, 16),
        (Bytes.header(0x20, 0, [], length: 4_096), .tooLong, 16),
    ]

    @Test("an invalid header is rejected at the first invalid byte", arguments: bad.indices)
    func invalid(index: Int) throws {
        let (bytes, fault, knownAfter) = Self.bad[index]
        for count in 0..<knownAfter {
            #expect(try ProxyHeader(of: bytes.prefix(count)) == nil, "after \(count) bytes")
        }
        for count in knownAfter...max(knownAfter, bytes.count) {
            #expect(throws: fault, "after \(count) bytes") { try ProxyHeader(of: bytes.prefix(count)) }
        }
    }

    @Test("a change in one of the twelve bytes of the signature is rejected at that byte")
    func signature() throws {
        let header = Bytes.header(0x11, Bytes.ipv4)
        for place in 0..<12 {
            for bit in 0..<8 {
                var bytes = header
                bytes[place] ^= 1 << bit
                #expect(try ProxyHeader(of: bytes.prefix(place)) == nil)
                #expect(throws: ProxyHeaderFault.notAHeader) { try ProxyHeader(of: bytes.prefix(place + 1)) }
            }
        }
    }

    @Test(
        "more bytes never change the result once it is known",
        arguments: [UInt64.random(in: .min ... .max)]
    )
    func total(seed: UInt64) async {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            await Task.yield()
            var bytes = Self.good.randomElement(using: &generator)?.bytes ?? []
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                bytes[Int.random(in: 0..<min(30, bytes.count), using: &generator)] = .random(
                    in: 0...255,
                    using: &generator
                )
            }
            bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
            var result: Result<ProxyHeader?, ProxyHeaderFault> = .success(nil)
            for count in 0...min(bytes.count, 64) {
                let next = Result { () throws(ProxyHeaderFault) in try ProxyHeader(of: bytes.prefix(count)) }
                if case .success(nil) = result {} else { #expect(next == result, "\(bytes)") }
                result = next
            }
        }
    }
}
