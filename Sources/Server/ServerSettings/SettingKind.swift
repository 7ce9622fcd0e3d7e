internal import ConfigText
internal import Vocabulary

/// A kind of value: how it is read, how it is written and what is said to who wrote something else.
package struct SettingKind<Value: Sendable>: Sendable {
    /// In a word or two: `duration`.
    package let form: String
    /// The values that are taken: `1s … 24h`.
    package let allowed: String
    /// Whether several values are taken.
    package let isList: Bool
    let read: @Sendable (RawValue) -> Value?
    let show: @Sendable (Value) -> String

    init(
        form: String,
        allowed: String,
        isList: Bool = false,
        read: @escaping @Sendable (RawValue) -> Value?,
        show: @escaping @Sendable (Value) -> String
    ) {
        self.form = form
        self.allowed = allowed
        self.isList = isList
        self.read = read
        self.show = show
    }

    /// A kind that is written as one text.
    static func one(
        _ form: String,
        _ allowed: String,
        read: @escaping @Sendable (String) -> Value?,
        show: @escaping @Sendable (Value) -> String
    ) -> SettingKind {
        SettingKind(
            form: form,
            allowed: allowed,
            read: { raw in raw.isList || raw.texts.count != 1 ? nil : read(raw.texts[0]) },
            show: show
        )
    }
}

extension SettingKind {
    /// The same, or nothing: an empty text, or `none`.
    static func optional<Wrapped: Sendable>(_ kind: SettingKind<Wrapped>) -> SettingKind where Value == Wrapped? {
        SettingKind(
            form: kind.form,
            allowed: "\(kind.allowed), or none",
            read: { raw in
                if raw.texts == ["none"] || raw.texts == [""] { return .some(nil) }
                return kind.read(raw).map(Optional.some)
            },
            show: { $0.map(kind.show) ?? "none" }
        )
    }

    /// Up to 16 of them; in the environment and in flags with commas between, and `[]` for none.
    static func list<Element: Sendable>(of kind: SettingKind<Element>, allowed: String? = nil) -> SettingKind
    where Value == [Element] {
        SettingKind(
            form: "list of \(kind.form)",
            allowed: allowed ?? "up to 16 of: \(kind.allowed)",
            isList: true,
            read: { raw in
                guard raw.isList else { return nil }
                var values: [Element] = []
                for text in raw.texts {
                    let one = RawValue(texts: [text], isList: false, folder: raw.folder)
                    guard let value = kind.read(one) else { return nil }
                    values.append(value)
                }
                return values.count <= 16 ? values : nil
            },
            show: { "[\($0.map(kind.show).joined(separator: ", "))]" }
        )
    }
}

extension SettingKind where Value == Duration {
    static func duration(_ range: ClosedRange<Duration>) -> SettingKind {
        .one(
            "duration",
            "\(DurationText.write(range.lowerBound)) … \(DurationText.write(range.upperBound)), as 250ms, 61s, 5m, 1h, 2d",
            read: { text in DurationText.read(text).flatMap { range.contains($0) ? $0 : nil } },
            show: { DurationText.write($0) }
        )
    }
}

extension SettingKind where Value == Int {
    static func number(_ range: ClosedRange<Int>) -> SettingKind {
        .one(
            "number",
            "\(range.lowerBound) … \(range.upperBound)",
            read: { text in Int(text).flatMap { range.contains($0) ? $0 : nil } },
            show: { "\($0)" }
        )
    }
}

extension SettingKind where Value == Bool {
    static var flag: SettingKind {
        .one(
            "flag",
            "true or false",
            read: { ["true": true, "false": false][$0] },
            show: { "\($0)" }
        )
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the type's cases, by its raw value.
    static var choice: SettingKind {
        .one(
            "word",
            Value.allCases.map(\.rawValue).joined(separator: " or "),
            read: { Value(rawValue: $0) },
            show: { $0.rawValue }
        )
    }
}

extension SettingKind where Value == AppVersion {
    static var version: SettingKind {
        .one("version", "one to four numbers, as 1.4.0", read: { AppVersion($0) }, show: { "\($0)" })
    }
}

extension SettingKind where Value == String {
    /// A file or folder; a relative one is taken from the folder of the file that names it, or else from where the
    /// program was started.
    static var path: SettingKind {
        SettingKind(
            form: "path",
            allowed: "a file or folder, absolute or relative to the configuration's folder",
            read: { raw in
                guard !raw.isList, raw.texts.count == 1, let text = raw.texts.first, !text.isEmpty, text != "none",
                    !text.utf8.contains(0)
                else { return nil }
                return text.hasPrefix("/") ? text : "\(raw.folder)/\(text)"
            },
            show: { $0 }
        )
    }
}

extension SettingKind where Value == String {
    /// A group of the machine; whether there is one of that name is found when it is needed.
    static var group: SettingKind {
        .one(
            "group",
            "a group of this machine, by name or number",
            read: { text in
                let isName = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3A }
                return isName && (1...32).contains(text.utf8.count) && text != "none" ? text : nil
            },
            show: { $0 }
        )
    }
}
