import Foundation

/// The part of JSON Schema that the schemas in docs/ use; an unknown keyword is a finding.
package struct JSONSchema {
    private let root: JSONValue

    package init(contentsOf path: String) throws {
        self.root = try JSONValue(String(contentsOfFile: path, encoding: .utf8))
    }

    /// The defects of a line; empty if it is valid.
    package func findings(in line: String) -> [String] {
        guard let value = try? JSONValue(line) else { return ["not JSON: \(line)"] }
        return self.check(value, against: self.root, at: "$")
    }

    private func check(_ value: JSONValue, against schema: JSONValue, at path: String) -> [String] {
        schema.object.flatMap { word, rule -> [String] in
            switch word {
            case "$schema", "title", "description":
                []
            case "type":
                // An integer is also a number.
                value.type == rule.string || (value.type == "integer" && rule.string == "number")
                    ? [] : ["\(path) is not of type \(rule.string ?? "?")"]
            case "const":
                value == rule ? [] : ["\(path) is \(value)"]
            case "enum":
                rule.array.contains(value) ? [] : ["\(path): \(value) is unknown"]
            case "pattern":
                value.string?.range(of: rule.string ?? "", options: .regularExpression) != nil
                    ? [] : ["\(path): \(value) does not match"]
            case "required":
                rule.array.compactMap(\.string).filter { value[$0] == nil }.map { "\(path).\($0) is missing" }
            case "properties":
                rule.object.flatMap { name, rule in
                    value[name].map { self.check($0, against: rule, at: "\(path).\(name)") } ?? []
                }
            case "additionalProperties":
                self.additional(value, rule, known: schema["properties"]?.object ?? [:], path)
            case "items":
                value.array.flatMap { self.check($0, against: rule, at: "\(path)[]") }
            case "$defs":
                []
            case "$ref":
                self.reference(rule.string ?? "").map { self.check(value, against: $0, at: path) }
                    ?? ["the schema has no \(rule)"]
            case "oneOf":
                self.oneOf(value, rule.array, path)
            default:
                ["the schema uses \(word), which is not checked"]
            }
        }
    }

    /// `#/$defs/name`.
    private func reference(_ text: String) -> JSONValue? {
        let prefix = "#/$defs/"
        return text.hasPrefix(prefix) ? self.root["$defs"]?[String(text.dropFirst(prefix.count))] : nil
    }

    private func additional(
        _ value: JSONValue,
        _ rule: JSONValue,
        known: [String: JSONValue],
        _ path: String
    ) -> [String] {
        let others = value.object.filter { known[$0.key] == nil }
        if rule == .boolean(false) { return others.keys.map { "\(path).\($0) is unknown" } }
        return others.flatMap { self.check($0.value, against: rule, at: "\(path).\($0.key)") }
    }

    private func oneOf(_ value: JSONValue, _ rules: [JSONValue], _ path: String) -> [String] {
        let findings = rules.map { self.check(value, against: $0, at: path) }
        if findings.count(where: \.isEmpty) == 1 { return [] }
        return findings.min { $0.count < $1.count } ?? ["\(path) matches none of the allowed forms"]
    }
}
