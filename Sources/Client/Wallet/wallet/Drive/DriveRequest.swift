internal import ConfigText
internal import FoundationEssentials
internal import HostSystem
internal import SimulatedPhone
internal import WalletCore
internal import WalletFlows

/// A command from the controlling program.
struct DriveRequest {
    /// The name of a command, given as the value of `do`.
    enum Name: String, CaseIterable {
        case launch, resume, background
        /// Terminates the app's process, as the operating system would.
        case end
        case tap, enter, biometric, link, device
        /// Sets the host application's operation in progress.
        ///
        /// Links have to wait for it.
        case session
        /// Asks the user to confirm an action of the host application.
        case confirm
        /// Reports the current screen again.
        case look
        case quit

        /// The fields that the command supports besides `do` and `id`.
        var fields: Set<String> {
            switch self {
            case .launch, .resume, .link: ["url", "source"]
            case .tap: ["action"]
            case .enter: ["pin"]
            case .biometric: ["present"]
            case .device: ["set"]
            case .session: ["kind"]
            case .confirm: ["title", "details"]
            case .background, .end, .look, .quit: []
            }
        }
    }

    let name: Name
    /// An identifier chosen by the controlling program and repeated in the response.
    let id: String?
    let fields: Fields
    /// The PIN from `enter`.
    ///
    /// Its digits are not stored anywhere else.
    let pin: PINInput?

    /// The fields of a line except for the PIN.
    struct Fields: Decodable {
        var name: String?
        var id: Scalar?
        var action: String?
        var present: String?
        var url: String?
        var source: String?
        var kind: String?
        var title: String?
        var details: String?
        var changes: [String: ProfileValue]?

        enum CodingKeys: String, CodingKey {
            case name = "do"
            case id, action, present, url, source, kind, title, details
            case changes = "set"
        }
    }

    /// A value of a field that may have any name.
    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) {}
    }

    /// A JSON value, converted to the text it would have in a profile file.
    struct Scalar: Decodable {
        let text: String
        /// The same text for a profile file, in which that of a string is not read as YAML.
        var quoted: String { self.isString ? JSONText.quoted(self.text) : self.text }
        private var isString = false

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let truth = try? value.decode(Bool.self) {
                self.text = truth ? "true" : "false"
            } else if let number = try? value.decode(Int64.self) {
                self.text = "\(number)"
            } else if let number = try? value.decode(Double.self) {
                self.text = "\(number)"
            } else {
                self.text = try value.decode(String.self)
                self.isString = true
            }
        }
    }

    /// A scalar, a list of scalars, or an object with one scalar such as `{"reject": 2}`, as text for a profile file.
    struct ProfileValue: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            if let list = try? [Scalar](from: decoder) {
                self.text = "[\(list.map { JSONText.quoted($0.text) }.joined(separator: ", "))]"
            } else if let fields = try? [String: Scalar](from: decoder) {
                let pairs = fields.map { "\(JSONText.quoted($0.key)): \(JSONText.quoted($0.value.text))" }
                self.text = "{\(pairs.joined(separator: ", "))}"
            } else {
                self.text = try Scalar(from: decoder).quoted
            }
        }
    }

    /// Removes the PIN before decoding the line, so that no decoder sees its digits.
    init(_ line: borrowing WipedBuffer) throws(DriveRefusal) {
        let (redacted, pin, isQuoted) = PINRedaction.take(from: line)
        let (fields, fieldNames): (Fields, [String])
        do {
            fields = try JSONDecoder().decode(Fields.self, from: Data(redacted))
            fieldNames = try JSONDecoder().decode([String: AnyValue].self, from: Data(redacted)).keys.sorted()
        } catch {
            guard isQuoted else {
                throw DriveRefusal(.badValue, "`pin` must be a string in quotes: a number has no leading zeros")
            }
            throw Self.refusal(error)
        }
        self.fields = fields
        self.id = fields.id?.text
        self.pin = pin
        guard let word = fields.name else {
            throw DriveRefusal(.badLine, "a line must have `do`, such as {\"do\":\"launch\"}", id: self.id)
        }
        let names = Name.allCases.map(\.rawValue)
        guard let name = Name(rawValue: word) else {
            throw DriveRefusal(
                .unknownCommand,
                "no such command; the commands are \(names.joined(separator: ", "))",
                nearest: NearestName.to(word, among: names),
                id: self.id
            )
        }
        self.name = name
        if let field = fieldNames.first(where: { !name.fields.contains($0) && $0 != "do" && $0 != "id" }) {
            let known = name.fields.sorted() + ["id"]
            throw DriveRefusal(
                .unknownField,
                "`\(word)` has no field `\(field)`; its fields are \(known.joined(separator: ", "))",
                nearest: NearestName.to(field, among: known)
            ).of(self)
        }
    }

    /// Returns the refusal of a line that cannot be decoded, with the field whose value has another type.
    private static func refusal(_ error: any Error) -> DriveRefusal {
        let path: [any CodingKey] =
            switch error as? DecodingError {
            case .some(.typeMismatch(_, let context)), .some(.valueNotFound(_, let context)): context.codingPath
            default: []
            }
        guard let field = path.first?.stringValue else {
            return DriveRefusal(
                .badLine,
                "a line must be one JSON object, such as {\"do\":\"tap\",\"action\":\"next\"}"
            )
        }
        let name = path.prefix(2).map(\.stringValue).joined(separator: ".")
        switch field {
        case Fields.CodingKeys.changes.rawValue where path.count > 1:
            return DriveRefusal(.badValue, "`\(name)` must be a string, a number, a boolean or a list of these")
        case Fields.CodingKeys.changes.rawValue:
            return DriveRefusal(.badValue, "`set` must be an object, such as {\"network\":\"off\"}")
        case Fields.CodingKeys.id.rawValue:
            return DriveRefusal(.badValue, "`id` must be a string, a number or a boolean")
        default: return DriveRefusal(.badValue, "`\(field)` must be a string")
        }
    }

    /// Returns a required field; throws if it is missing.
    func required(_ value: String?, _ name: String) throws(DriveRefusal) -> String {
        guard let value else {
            throw DriveRefusal(.missingField, "`\(self.name.rawValue)` needs `\(name)`").of(self)
        }
        return value
    }

    /// Returns a field whose value must be a case of the given enumeration.
    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ text: String,
        _ type: Value.Type
    ) throws(DriveRefusal) -> Value {
        if let value = Value(rawValue: text) { return value }
        let names = type.allCases.map(\.rawValue)
        throw DriveRefusal(
            .badValue,
            "`\(text)` is not one of \(names.joined(separator: ", "))",
            nearest: NearestName.to(text, among: names)
        ).of(self)
    }

    /// Returns the link in the line, if any.
    func link() throws(DriveRefusal) -> IncomingLink? {
        guard let url = self.fields.url else { return nil }
        guard let source = self.fields.source else { return IncomingLink(url) }
        return IncomingLink(url, from: try self.choice(source, IncomingLink.Source.self))
    }
}

/// Describes why a command was rejected.
///
/// Rejected commands have no effect.
struct DriveRefusal: Error {
    /// The reason as it appears in the output.
    ///
    /// Names never change their meaning.
    enum Reason: String, CaseIterable {
        /// The line is not a JSON object, or `do` is missing.
        case badLine = "bad-line"
        /// The line exceeds the maximum length.
        case tooLong = "too-long"
        case unknownCommand = "unknown-command"
        case missingField = "missing-field"
        /// The command does not support the field.
        case unknownField = "unknown-field"
        case badValue = "bad-value"
        /// The current screen does not offer the action, or the app cannot ask for a confirmation now.
        case notOffered = "not-offered"
        /// The current screen does not ask for a PIN.
        case noInput = "no-input"
        /// No system prompt is open.
        case noPrompt = "no-prompt"
        /// The app's process is not running.
        case notRunning = "not-running"
        case inBackground = "in-background"
        /// The wallet's files or its device failed.
        case failed
    }

    var reason: Reason
    var message: String
    var nearest: String?
    var command: String?
    var id: String?

    init(_ reason: Reason, _ message: String, nearest: String? = nil, id: String? = nil) {
        self.reason = reason
        self.message = message
        self.nearest = nearest
        self.id = id
    }

    /// Returns a copy with the command name and id.
    func of(_ command: DriveRequest) -> DriveRefusal {
        var refusal = self
        refusal.command = command.name.rawValue
        refusal.id = command.id
        return refusal
    }
}

extension DriveRefusal {
    /// Converts an error thrown by a command.
    init(_ error: any Error, screen: Screen) {
        if let refusal = error as? DriveRefusal {
            self = refusal
            return
        }
        let error = PhoneError(error)
        let message = error.description
        switch error {
        case .notRunning: self.init(.notRunning, message)
        case .inBackground: self.init(.inBackground, message)
        case .wallet(.notOffered(let action)):
            let offered = screen.actions.map(\.id.rawValue)
            self.init(.notOffered, Self.offer(of: screen), nearest: NearestName.to(action.rawValue, among: offered))
        case .wallet(.noInput): self.init(.noInput, message)
        case .wallet(.noPrompt): self.init(.noPrompt, message)
        case .wallet(.locked), .wallet(.cannotConfirm): self.init(.notOffered, message)
        case .usage: self.init(.badValue, message)
        case .wallet, .storage, .device, .homeInUse: self.init(.failed, message)
        }
    }

    /// Creates the error for an action name that does not exist.
    init(unknownAction name: String, screen: Screen) {
        let offered = screen.actions.map(\.id.rawValue)
        self.init(
            .notOffered,
            "no such action; \(Self.offer(of: screen))",
            nearest: NearestName.to(name, among: offered)
                ?? NearestName.to(name, among: ActionID.allCases.map(\.rawValue))
        )
    }

    /// Returns a sentence that lists the actions on the current screen.
    private static func offer(of screen: Screen) -> String {
        let offered = screen.actions.map(\.id.rawValue).joined(separator: ", ")
        guard offered.isEmpty else { return "the current screen offers only \(offered)" }
        guard let input = screen.inputs.first else { return "the current screen offers no action" }
        return "the current screen offers no action; it waits for \(input.id == "pin" ? "`enter`" : "`biometric`")"
    }

    var line: OutputLine {
        .refused(
            command: self.command,
            id: self.id,
            reason: self.reason.rawValue,
            message: self.message,
            nearest: self.nearest
        )
    }
}
