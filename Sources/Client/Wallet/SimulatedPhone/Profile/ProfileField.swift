internal import ConfigText
internal import Yams

/// One key of a profile: what it is for, what it takes, and where it goes.
struct ProfileField: Sendable {
    let name: String
    /// For the table in docs/devices.md.
    let text: String
    /// What may stand there.
    let allowed: String
    /// Sets the profile's value, or says what is wrong with the one that stands there.
    let read: @Sendable (Node, inout DeviceProfile) -> String?
    let write: @Sendable (DeviceProfile) -> Node

    typealias Path<Value> = any (WritableKeyPath<DeviceProfile, Value> & Sendable)

    /// A text that says something.
    static func text(_ name: String, _ path: Path<String>, _ text: String) -> ProfileField {
        ProfileField(
            name: name,
            text: text,
            allowed: "1 to 100 characters",
            read: { node, profile in
                guard let value = node.scalar?.string, (1...100).contains(value.count) else {
                    return "1 to 100 characters are expected"
                }
                profile[keyPath: path] = value
                return nil
            },
            write: { Node($0[keyPath: path]) }
        )
    }

    /// Yes or no, in any of YAML's words.
    static func flag(_ name: String, _ path: Path<Bool>, _ text: String) -> ProfileField {
        ProfileField(
            name: name,
            text: text,
            allowed: "true or false",
            read: { node, profile in
                switch node.scalar?.string.lowercased() {
                case "true", "yes", "on": profile[keyPath: path] = true
                case "false", "no", "off": profile[keyPath: path] = false
                default: return "true or false is expected"
                }
                return nil
            },
            write: { Node($0[keyPath: path] ? "true" : "false", Tag(.implicit)) }
        )
    }

    /// A whole number of a range.
    static func number<Number: FixedWidthInteger & Sendable>(
        _ name: String,
        _ path: Path<Number>,
        in range: ClosedRange<Number>,
        _ text: String
    ) -> ProfileField {
        ProfileField(
            name: name,
            text: text,
            allowed: "\(range.lowerBound) to \(range.upperBound)",
            read: { node, profile in
                guard let value = node.scalar.flatMap({ Number($0.string) }), range.contains(value) else {
                    return "a number from \(range.lowerBound) to \(range.upperBound) is expected"
                }
                profile[keyPath: path] = value
                return nil
            },
            write: { Node("\($0[keyPath: path])", Tag(.implicit)) }
        )
    }

    /// A value that can be read from one text, or `none` where there need not be one.
    static func optional<Value: Sendable>(
        _ name: String,
        _ path: Path<Value?>,
        _ text: String,
        allowed: String,
        names: [String] = [],
        reading: @escaping @Sendable (String) -> Value?,
        writing: @escaping @Sendable (Value) -> String
    ) -> ProfileField {
        ProfileField(
            name: name,
            text: text,
            allowed: allowed,
            read: { node, profile in
                let word = Self.word(node)
                if word == "none" {
                    profile[keyPath: path] = nil
                } else if let value = word.flatMap(reading) {
                    profile[keyPath: path] = value
                } else {
                    return Self.refusal(of: word, names: names + ["none"], allowed: allowed)
                }
                return nil
            },
            write: { Node($0[keyPath: path].map(writing) ?? "none", Tag(.implicit)) }
        )
    }

    /// A value that can be read from one text.
    static func value<Value: Sendable>(
        _ name: String,
        _ path: Path<Value>,
        _ text: String,
        names: [String],
        reading: @escaping @Sendable (String) -> Value?,
        writing: @escaping @Sendable (Value) -> String
    ) -> ProfileField {
        let allowed = names.joined(separator: ", ")
        return ProfileField(
            name: name,
            text: text,
            allowed: allowed,
            read: { node, profile in
                let word = Self.word(node)
                guard let value = word.flatMap(reading) else {
                    return Self.refusal(of: word, names: names, allowed: "one of \(allowed)")
                }
                profile[keyPath: path] = value
                return nil
            },
            write: { Node(writing($0[keyPath: path]), Tag(.implicit)) }
        )
    }

    /// One of a closed list of names.
    static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String,
        _ path: Path<Value>,
        _ text: String
    ) -> ProfileField {
        Self.value(
            name,
            path,
            text,
            names: Value.allCases.map(\.rawValue),
            reading: { Value(rawValue: $0) },
            writing: { $0.rawValue }
        )
    }

    /// The node as one text: a scalar, or `{name: argument}` as `name:argument`.
    static func word(_ node: Node) -> String? {
        if let scalar = node.scalar { return scalar.string }
        guard let mapping = node.mapping, mapping.count == 1, let (key, value) = mapping.first,
            let name = key.scalar?.string, let argument = value.scalar?.string
        else { return nil }
        return "\(name):\(argument)"
    }

    /// The sentence about a value that is none of those allowed.
    static func refusal(of word: String?, names: [String], allowed: String) -> String {
        guard let word else { return "\(allowed) is expected" }
        let hint = NearestName.to(word, among: names).map { "; did you mean `\($0)`?" } ?? ""
        return "`\(word)` is not \(allowed)\(hint)"
    }
}
