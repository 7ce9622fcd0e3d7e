/// A value of a scenario after it was checked: of the form that its ``Shape`` asks for.
indirect enum Value: Hashable, Sendable {
    case nothing
    case text(String)
    case number(Int)
    case truth(Bool)
    case duration(Duration)
    case list([Located])
    case fields([String: Located])

    /// A value and the line that it stands in.
    struct Located: Hashable, Sendable {
        var line: Int
        var value: Value
    }
}

/// Reads checked values; what is asked for is there, because the ``Shape`` said so.
extension Value {
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var number: Int? {
        if case .number(let number) = self { number } else { nil }
    }

    var truth: Bool? {
        if case .truth(let truth) = self { truth } else { nil }
    }

    var duration: Duration? {
        if case .duration(let duration) = self { duration } else { nil }
    }

    var list: [Located]? {
        if case .list(let list) = self { list } else { nil }
    }

    var fields: [String: Located]? {
        if case .fields(let fields) = self { fields } else { nil }
    }

    /// The texts of a list.
    var texts: [String]? { self.list?.compactMap(\.value.text) }

    /// The value of a key; nil where it is not there.
    subscript(_ key: String) -> Value? { self.fields?[key]?.value }
}
