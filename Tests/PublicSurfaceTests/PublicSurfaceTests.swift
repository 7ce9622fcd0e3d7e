import Foundation
import HostSystem
import TestSupport
import Testing

@Suite("The public surface")
struct PublicSurfaceTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    @Test("docs/surface.txt lists every setting, command, exit status, schema, metric and field of the programs")
    func surface() async throws {
        let path = "\(Self.root)/docs/surface.txt"
        let lines = try await PublicSurface.lines(schemasIn: "\(Self.root)/docs")
        if ProcessInfo.processInfo.environment["REMOTE_PIN_TEST_SURFACE"] == "record" {
            try DurableFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: path, mode: 0o644)
        }
        let recorded = try DurableFile.readText(path, atMost: 1 << 20).split(separator: "\n").map(String.init)
        let differences = lines.difference(from: recorded).map { change in
            switch change {
            case .insert(_, let line, _): "+ \(line)"
            case .remove(_, let line, _): "- \(line)"
            }
        }
        #expect(
            differences.isEmpty,
            "on purpose? Then run `make surface`, see docs/compatibility.md and name the change in CHANGELOG.md"
        )
    }

    @Test("the list has every message of the protocol")
    func messages() throws {
        let lines = ProtocolMessages.lines()
        for name in ["wallet", "portal"] {
            let text = try DurableFile.readText("\(Self.root)/Proto/remotepin/v1/\(name).proto", atMost: 1 << 20)
            let messages = text.matches(of: /(?m)^message (\w+)/).map { "message \($0.1)" }
            #expect(messages.count >= 5)
            #expect(Set(messages).isSubset(of: lines), "\(Set(messages).subtracting(lines).sorted())")
        }
        #expect(lines.contains("  101 deletion_code string"))
    }

    @Test("a schema's fingerprint depends on all that it demands, and not on its descriptions")
    func fingerprints() throws {
        func fingerprint(_ text: String) throws -> String {
            PublicSurface.fingerprint(of: try JSONValue(text))
        }
        let schema = #"{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1}}}"#
        let one = try fingerprint(schema)
        #expect(try fingerprint(schema.replacing("\"minimum\"", with: #""description":"An a.","minimum""#)) == one)
        let changes = [("minimum\":1", "minimum\":2"), ("[\"a\"]", "[]"), ("integer", "number"), ("{\"a\"", "{\"b\"")]
        for (old, new) in changes {
            #expect(try fingerprint(schema.replacing(old, with: new)) != one, "\(new)")
        }
        // A property may be called "description".
        let named = schema.replacing(#"{"a""#, with: #"{"description""#)
        let unnamed = schema.replacing(#""a":{"type":"integer","minimum":1}"#, with: "")
        #expect(try fingerprint(named) != fingerprint(unnamed))
    }
}
