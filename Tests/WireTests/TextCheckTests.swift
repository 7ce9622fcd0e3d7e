import Foundation
import Testing
import Wire

/// The message types of Proto/remotepin/v1, read from the text of the files.
private struct ProtoMessages {
    struct Field {
        let name: String
        let number: UInt64
        let type: String
    }

    private(set) var fields: [String: [Field]] = [:]

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Proto/remotepin/v1")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try self.read(String(contentsOf: folder.appending(path: name), encoding: .utf8))
        }
    }

    private mutating func read(_ text: String) throws {
        var message: String?
        var isInEnum = false
        for line in text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
            if let start = line.wholeMatch(of: /message (\w+) \{(\}?).*/) {
                self.fields[String(start.1)] = []
                message = start.2.isEmpty ? String(start.1) : nil
            } else if line.hasPrefix("enum ") {
                isInEnum = true
            } else if line.hasPrefix("}") {
                isInEnum = false
            } else if !isInEnum, let message, let field = line.firstMatch(of: /^(repeated )?(\w+) (\w+) = (\d+);/) {
                let number = try #require(UInt64(field.4))
                self.fields[message]?.append(Field(name: String(field.3), number: number, type: String(field.2)))
            }
        }
    }

    /// The messages that are not a part of another one.
    var roots: Set<String> {
        Set(self.fields.keys).subtracting(self.fields.values.joined().map(\.type))
    }

    /// The fields on the way to each string in a message.
    func strings(in message: String) -> [[Field]] {
        self.fields[message, default: []].flatMap { field in
            field.type == "string" ? [[field]] : self.strings(in: field.type).map { [field] + $0 }
        }
    }
}

@Suite("Strings in messages")
struct TextCheckTests {
    /// The decoder of each message that is not part of another one.
    private static let decoders: [String: @Sendable ([UInt8]) throws -> Void] = [
        "Request": { _ = try Request(decoding: $0) }, "Response": { _ = try Response(decoding: $0) },
        "RegisterBody": { _ = try RegisterBody(decoding: $0) },
        "OpenSessionBody": { _ = try OpenSessionBody(decoding: $0) },
        "InstructBody": { _ = try InstructBody(decoding: $0) },
        "PortalRequest": { _ = try PortalRequest(decoding: $0) },
        "PortalResponse": { _ = try PortalResponse(decoding: $0) },
    ]

    private func encoded(_ content: [UInt8], in path: [ProtoMessages.Field]) -> [UInt8] {
        path.reversed().reduce(content) { content, field in
            ProtoWriter.message { $0.bytes(field.number, content) }
        }
    }

    private func isRejectedAsText(_ frame: [UInt8], by decode: ([UInt8]) throws -> Void) -> Bool {
        do { try decode(frame) } catch WireError.invalid(.text, _) { return true } catch {}
        return false
    }

    @Test("a zero byte or invalid UTF-8 in any string of any message is malformed")
    func everyString() throws {
        let messages = try ProtoMessages()
        #expect(messages.roots == Set(Self.decoders.keys))
        var count = 0
        for (root, decode) in Self.decoders {
            for path in messages.strings(in: root) {
                let name = "\(root).\(path.map(\.name).joined(separator: "."))"
                let texts: [[UInt8]] = [
                    Array("1.4.0\0".utf8), Array("\0".utf8), Array("16\0\nforged".utf8), [0x61, 0xFF], [0xC0, 0x80],
                ]
                for text in texts {
                    #expect(self.isRejectedAsText(self.encoded(text, in: path), by: decode), "\(name): \(text)")
                }
                #expect(!self.isRejectedAsText(self.encoded(Array("1.4.0".utf8), in: path), by: decode), "\(name)")
                count += 1
            }
        }
        #expect(count >= 12)
    }

    @Test("a string that occurs twice is checked twice, and one behind fields that the server does not know as well")
    func everyOccurrence() {
        let hello = ProtoWriter.message {
            $0.text(1, "1.0\0")
            $0.text(1, "1.0")
            $0.number(2, 1)
            $0.text(3, "15")
        }
        let later = ProtoWriter.message {
            $0.number(90, .max)
            $0.bytes(91, [0, 0xFF])
            $0.text(1, "1.0")
            $0.number(2, 1)
            $0.text(3, "15\0")
        }
        for call in [hello, later] {
            let frame = ProtoWriter.message { $0.bytes(2, call) }
            #expect(throws: WireError.invalid(.text, id: 0)) { try Request(decoding: frame) }
        }
    }

    @Test("a fixed-length field of a newer client does not end the check, and neither does a field with a large number")
    func otherForms() {
        // Fields 12 (64 bits) and 13 (32 bits), then field 2^29 - 1, then a HelloRequest with a zero byte.
        let fields: [UInt8] =
            [12 << 3 | 1] + Samples.bytes(8) + [13 << 3 | 5] + Samples.bytes(4) + [0xFA, 0xFF, 0xFF, 0xFF, 0x0F, 1, 0]
        let hello = ProtoWriter.message { $0.message(2) { $0.text(1, "1.0\0x") } }
        #expect(throws: WireError.invalid(.text, id: 0)) { try Request(decoding: fields + hello) }
    }
}
