import ConfigText
import Crypto
import Foundation
import HostSystem
import MetricsEndpoint
import ServerSettings
import SimulatedPhone
import Telemetry
import TestSupport

@testable import PostgreSQLStore
@testable import pin_load
@testable import remote_pin_server

/// The names and numbers on which operators, scripts and other programs rely, one a line.
///
/// The settings, statuses and metrics come from the programs' own tables, the commands from their argument parsers, and
/// the messages from the descriptors in the generated C.
enum PublicSurface {
    /// Returns all lines; an indented line belongs to the one above it.
    ///
    /// - Parameter docs: The folder with the schemas, which other tests compare with the programs' output.
    static func lines(schemasIn docs: String) async throws -> [String] {
        var lines = ["# Settings"] + self.settings
        lines.append("# Exit statuses")
        lines.append("every program \(ThreadLimit.status) threads")
        lines += self.statuses
        lines.append("# Commands with their options and default values")
        for program in ["server", "portal", "keys", "lab"].map({ "remote-pin-\($0)" }) + ["wallet", "pin-load"] {
            lines += try await self.commands(of: program)
        }
        lines.append("# JSON schemas with their versions and fingerprints")
        lines += try self.schemas(in: docs)
        lines.append("# Versions of the PostgreSQL schema with fingerprints, which never change")
        lines += self.migrations
        lines.append("# Metrics")
        lines += self.metrics
        lines.append("# Messages of remotepin.v1")
        return lines + ProtocolMessages.lines()
    }

    private static var settings: [String] {
        SettingTable.all.map { setting in
            let standard = setting.standardText.map { "default \($0)" } ?? "required"
            let reload = setting.isLive ? "on reload" : "on restart"
            return "\(setting.name): \(setting.form), \(setting.allowed), \(standard), \(reload)"
        }
    }

    private static var statuses: [String] {
        StartFailure.Kind.allCases.map { "remote-pin-server \($0.rawValue) \($0)" }
            + Finding.Severity.allCases.map { "remote-pin-server doctor \($0.exitStatus) \($0)" }
            + WalletExitStatus.allCases.map { "wallet \($0.rawValue) \($0.outcome)" }
            + PinLoadStatus.allCases.map { "pin-load \($0.rawValue) \($0)" }
    }

    private static var metrics: [String] {
        MetricCatalogue.all.flatMap { metric in
            var kind = metric.kind.name
            if case .histogram(let bounds) = metric.kind { kind += " \(bounds)" }
            let labels = metric.labels.map { label in
                switch label.values {
                case .listed(let values): "  \(label.name): \(values.sorted().joined(separator: " "))"
                case .constant: "  \(label.name)"
                }
            }
            return ["\(metric.name): \(kind)"] + labels
        }
    }

    private static func commands(of program: String) async throws -> [String] {
        let run = try await ServerProcess.run(program, ["--experimental-dump-help"])
        return self.describe(try JSONValue(run.output)["command"].orThrow(), path: [])
    }

    /// Returns the lines for a command and those below it, without hidden ones.
    private static func describe(_ command: JSONValue, path: [String]) -> [String] {
        let path = path + [command["commandName"]?.string ?? ""]
        guard path.last != "help", command["shouldDisplay"] != .boolean(false) else { return [] }
        var lines = [path.joined(separator: " ")]
        for argument in command["arguments"]?.array ?? [] where argument["shouldDisplay"] != .boolean(false) {
            let names = (argument["names"]?.array ?? []).compactMap { name in
                name["name"]?.string.map { (name["kind"] == .string("long") ? "--" : "-") + $0 }
            }
            guard !names.contains("--help"), !names.contains("--version") else { continue }
            var words = names.sorted()
            if argument["kind"] != .string("flag") { words.append("<\(argument["valueName"]?.string ?? "value")>") }
            if argument["isRepeating"] == .boolean(true) { words.append("...") }
            if argument["isOptional"] == .boolean(false) { words.append("required") }
            if let value = argument["defaultValue"]?.string { words.append("= \(value)") }
            let values = (argument["allValues"]?.array ?? []).compactMap(\.string)
            if !values.isEmpty { words.append("(\(values.joined(separator: ", ")))") }
            lines.append("  " + words.joined(separator: " "))
        }
        // A command has a section of its own if its statuses differ from those of its program.
        let parts = command["discussion"]?.string?.components(separatedBy: "EXIT CODES\n") ?? []
        if path.count > 1, let statuses = parts.dropFirst().first {
            lines += statuses.split(separator: "\n").map { "  status" + $0 }
        }
        return lines + (command["subcommands"]?.array ?? []).flatMap { self.describe($0, path: path) }
    }

    private static func schemas(in docs: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: docs).filter { $0.hasSuffix(".schema.json") }.sorted()
            .map { name in
                let schema = try JSONValue(try String(contentsOfFile: "\(docs)/\(name)", encoding: .utf8))
                let properties = schema["properties"]
                let version = (properties?["v"] ?? properties?["format"])?["const"].map(self.canonical) ?? "no version"
                return "\(name): \(version), \(self.fingerprint(of: schema))"
            }
    }

    /// The statements of each version of the database's schema; `Tests/Released` has the store of the other engine.
    private static var migrations: [String] {
        PostgreSQLStore.Schema.current.migrations.enumerated().map { index, statements in
            "\(index + 1): \(self.digest(of: statements))"
        }
    }

    /// A digest of everything that a schema demands: all of it except titles and descriptions.
    static func fingerprint(of schema: JSONValue) -> String { self.digest(of: self.canonical(schema)) }

    private static func digest(of text: String) -> String {
        let digest = SHA256.hash(data: Data(text.utf8))
        return digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func canonical(_ value: JSONValue) -> String {
        switch value {
        case .object(let members):
            let kept = members.filter { !["title", "description"].contains($0.key) || $0.value.string == nil }
            let sorted = kept.sorted { $0.key < $1.key }.map {
                "\($0.key.debugDescription):\(self.canonical($0.value))"
            }
            return "{" + sorted.joined(separator: ",") + "}"
        case .array(let values): return "[" + values.map(self.canonical).joined(separator: ",") + "]"
        case .string(let text): return text.debugDescription
        case .integer(let number): return "\(number)"
        case .number(let number): return "\(number)"
        case .boolean(let value): return "\(value)"
        }
    }
}
