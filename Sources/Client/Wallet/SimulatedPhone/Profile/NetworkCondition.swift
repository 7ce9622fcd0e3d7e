package import Wire

/// A one-time network fault.
package enum NetworkCondition: Hashable, Sendable, CustomStringConvertible {
    /// Drops the connection after the server has executed the call, but before the reply arrives.
    ///
    /// If `to` is nil, this applies to the next call, whatever it is.
    case loseReply(to: Call.Kind?)
    /// Delays the next call.
    case delay(milliseconds: Int)
    /// Closes the connection after the given number of bytes, counting both directions.
    case cut(afterByteCount: Int)

    /// The condition as written in profiles.
    package var description: String {
        switch self {
        case .loseReply(to: nil): "lose-next-reply"
        case .loseReply(to: .some(let call)): "lose-next-reply:\(call.rawValue)"
        case .delay(let milliseconds): "delay:\(milliseconds)"
        case .cut(let byteCount): "cut-after:\(byteCount)"
        }
    }

    /// Parses a condition as written in profiles.
    package init?(_ text: String) {
        if text == "lose-next-reply" {
            self = .loseReply(to: nil)
        } else if let name = ProfileText.argument(of: "lose-next-reply", in: text), let call = Call.Kind(rawValue: name)
        {
            self = .loseReply(to: call)
        } else if let number = ProfileText.number(after: "delay", in: text, within: 1...600_000) {
            self = .delay(milliseconds: number)
        } else if let number = ProfileText.number(after: "cut-after", in: text, within: 0...1_000_000_000) {
            self = .cut(afterByteCount: number)
        } else {
            return nil
        }
    }

    /// All supported forms, for messages and help.
    package static let forms = ["lose-next-reply", "lose-next-reply:CALL", "delay:MS", "cut-after:BYTES"]
}

/// Parses a name with an argument, such as `reject:2`.
enum ProfileText {
    /// Returns the argument after the name and a colon, or nil if the text starts with a different name.
    static func argument(of name: String, in text: String) -> String? {
        guard text.hasPrefix(name + ":") else { return nil }
        let argument = text.dropFirst(name.count + 1).drop { $0 == " " }
        return argument.isEmpty ? nil : String(argument)
    }

    /// Returns the argument if it is a number within the range.
    static func number(after name: String, in text: String, within range: ClosedRange<Int>) -> Int? {
        guard let argument = self.argument(of: name, in: text), argument.allSatisfy(\.isNumber),
            let number = Int(argument), range.contains(number)
        else { return nil }
        return number
    }
}
