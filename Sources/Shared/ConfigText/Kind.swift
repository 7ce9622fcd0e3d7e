/// A kind of value with a corresponding Swift type, which can be read, checked, described and written.
package struct Kind<Value: Sendable>: Sendable {
    package let shape: Shape
    /// Reads a checked value.
    ///
    /// Relative paths are resolved against the folder.
    package let read: @Sendable (ConfigValue, _ folder: String) -> Value?
    package let write: @Sendable (Value) -> ConfigValue

    /// A description of the accepted values, for messages and the manual.
    package var allowed: String { self.shape.allowed }

    /// Creates a kind whose values are written as a single text.
    package static func word(
        _ form: String,
        _ allowed: String,
        names: [String] = [],
        schema: WordSchema = .text,
        takesArgument: Bool = false,
        read: @escaping @Sendable (String) -> Value?,
        write: @escaping @Sendable (Value) -> String
    ) -> Kind {
        let word = Word(
            form: form,
            allowed: allowed,
            names: names,
            schema: schema,
            acceptsEmpty: false,
            takesArgument: takesArgument,
            canonical: { read($0).map(write) }
        )
        return Kind(shape: .word(word), read: { value, _ in value.text.flatMap(read) }, write: { .word(write($0)) })
    }

    /// Creates a kind for texts that are accepted by a rule.
    package static func text(
        _ form: String = "text",
        _ allowed: String,
        accepts: @escaping @Sendable (String) -> Bool
    ) -> Kind where Value == String {
        .word(form, allowed, read: { accepts($0) ? $0 : nil }, write: { $0 })
    }

    /// Creates a kind that also accepts an empty text or `none` as no value.
    package static func optional<Wrapped: Sendable>(_ kind: Kind<Wrapped>) -> Kind where Value == Wrapped? {
        guard case .word(let word) = kind.shape else { preconditionFailure("only a word can be optional") }
        let shape = Shape.word(
            Word(
                form: word.form,
                allowed: "\(word.allowed), or none",
                names: word.names.isEmpty ? [] : word.names + ["none"],
                schema: .text,
                acceptsEmpty: true,
                takesArgument: word.takesArgument,
                isSecret: word.isSecret,
                canonical: { $0.isEmpty || $0 == "none" ? "none" : word.canonical($0) }
            )
        )
        return Kind(
            shape: shape,
            read: { value, folder in value.text == "none" ? .some(nil) : kind.read(value, folder).map(Optional.some) },
            write: { $0.map(kind.write) ?? .word("none") }
        )
    }

    /// Creates a kind for multiple values.
    ///
    /// If there is no limit, a single value does not need brackets.
    package static func list<Element: Sendable>(
        of kind: Kind<Element>,
        atMost limit: Int? = 16
    ) -> Kind where Value == [Element] {
        Kind(
            shape: .list(kind.shape, atMost: limit),
            read: { value, folder in (value.list ?? [value]).compactMap { kind.read($0, folder) } },
            write: { .list($0.map(kind.write)) }
        )
    }

    /// The same kind, except that its values are never shown in messages or listings.
    var secret: Kind { self.hiding { _ in true } }

    /// The same kind, except that texts that may be secret are not shown in messages and listings.
    package func hiding(_ isSecret: @escaping @Sendable (String) -> Bool) -> Kind {
        Kind(shape: self.shape.hiding(isSecret), read: self.read, write: self.write)
    }
}

extension Kind where Value == Duration {
    package static func duration(_ range: ClosedRange<Duration>? = nil) -> Kind {
        let limits = range.map { [$0.lowerBound, $0.upperBound].map(DurationText.write).joined(separator: " … ") }
        return .word(
            "duration",
            "a duration\(limits.map { ", \($0)," } ?? "") with a unit (ms, s, m, h or d)",
            schema: .pattern("^[0-9]+ ?(ms|s|m|h|d)$"),
            read: { text in DurationText.read(text).flatMap { range?.contains($0) ?? true ? $0 : nil } },
            write: { DurationText.write($0) }
        )
    }
}

extension Kind where Value: FixedWidthInteger {
    package static func number(_ range: ClosedRange<Value>) -> Kind {
        .word(
            "number",
            "a number, \(range.lowerBound) … \(range.upperBound)",
            schema: .number(minimum: Int64(range.lowerBound), maximum: Int64(range.upperBound)),
            read: { text in Value(text).flatMap { range.contains($0) ? $0 : nil } },
            write: { "\($0)" }
        )
    }
}

extension Kind where Value == Bool {
    /// A Boolean, written as `true` or `false`.
    ///
    /// YAML's other spellings are also accepted.
    package static var flag: Kind {
        .word(
            "flag",
            "true or false",
            schema: .truth,
            read: { text in
                switch text.lowercased() {
                case "true", "yes", "on": true
                case "false", "no", "off": false
                default: nil
                }
            },
            write: { "\($0)" }
        )
    }
}

extension Kind where Value: RawRepresentable<String> & CaseIterable {
    /// One of the type's cases, written as its raw value.
    package static var choice: Kind {
        let names = Value.allCases.map(\.rawValue)
        return .word(
            "word",
            Word.list(names),
            names: names,
            schema: .names(names),
            read: { Value(rawValue: $0) },
            write: { $0.rawValue }
        )
    }
}

extension Kind where Value == String {
    /// A path to a file or folder.
    ///
    /// A relative path is resolved against the folder of the file that contains it, or else the current folder.
    package static var path: Kind {
        let kind = Kind.text("path", "a path, absolute or relative to the configuration file's folder") {
            !$0.isEmpty && $0 != "none" && !$0.utf8.contains(0)
        }
        return Kind(
            shape: kind.shape,
            read: { value, folder in value.text.map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" } },
            write: kind.write
        )
    }
}

extension Shape {
    package static func text(_ form: String) -> Shape { Kind<String>.text(form, form) { _ in true }.shape }
    package static func number(_ range: ClosedRange<Int>) -> Shape { Kind<Int>.number(range).shape }
    package static var truth: Shape { Kind<Bool>.flag.shape }
    package static var duration: Shape { Kind<Duration>.duration().shape }
    package static func list(_ element: Shape) -> Shape { .list(element, atMost: nil) }

    /// One of several names.
    ///
    /// Messages only list them if there are at most eight.
    package static func name(_ form: String, _ names: [String]) -> Shape {
        let allowed = names.count > 8 ? "a known \(form)" : Word.list(names)
        return Kind<String>.word(
            form,
            allowed,
            names: names,
            schema: .names(names),
            read: { names.contains($0) ? $0 : nil },
            write: { $0 }
        ).shape
    }

    /// Returns whether the text of a value must not appear in messages and listings.
    func hides(_ text: String) -> Bool {
        switch self {
        case .word(let word): word.isSecret(text)
        case .list(let element, _): element.hides(text)
        case .nothing, .fields, .map, .entry, .either, .named: false
        }
    }

    fileprivate func hiding(_ isSecret: @escaping @Sendable (String) -> Bool) -> Shape {
        switch self {
        case .word(var word):
            word.isSecret = isSecret
            return .word(word)
        case .list(let element, let limit): return .list(element.hiding(isSecret), atMost: limit)
        case .nothing, .fields, .map, .entry, .either, .named: preconditionFailure("only words can be secret")
        }
    }
}

extension Word {
    /// Returns a list of names for use in a sentence, such as `a, b or c`.
    static func list(_ names: [String]) -> String {
        names.count < 2 ? names.joined() : "\(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])"
    }
}

/// Parses and formats durations as people write them, with a whole number and a unit, such as `61s`, `5m` or `1h`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses a duration such as `250ms`, `61s`, `5m`, `1h` or `2d`.
    ///
    /// Returns nil for anything else, including a number without a unit.
    package static func read(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count).drop { $0 == " " }
        guard let unit = Self.units.first(where: { $0.name == name }), let number = Int64(digits) else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// Returns the shortest form with a whole number, such as `1h` instead of `60m`.
    package static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        for unit in Self.units where milliseconds != 0 && milliseconds.isMultiple(of: unit.milliseconds) {
            return "\(milliseconds / unit.milliseconds)\(unit.name)"
        }
        return "\(milliseconds)s"
    }
}
