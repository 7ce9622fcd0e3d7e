internal import FoundationEssentials
internal import HostSystem
internal import ConfigText
internal import WalletCore
internal import WalletFlows

/// One line of a driving program: what happens to the phone next.
struct DriveRequest {
    /// What can happen, by the name that the line's `do` gives it.
    enum Name: String, CaseIterable {
        case launch
        case resume
        case background
        /// The phone ends the process of the app.
        case end
        case tap
        case enter
        case biometric
        case link
        case device
        /// The host application is in the middle of something, so that links have to wait.
        case session
        /// Nothing: the present screen is told once more.
        case look
        case quit
    }

    let name: Name
    /// The driver's own mark, given back with the answer.
    let id: String?
    let fields: Fields
    /// What `enter` enters; its digits stand nowhere else.
    let pin: PINInput?

    /// What a line says besides its PIN.
    struct Fields: Decodable {
        var name: String?
        var id: String?
        var action: String?
        var present: String?
        var url: String?
        var source: String?
        var kind: String?
        var changes: [String: Scalar]?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case name = "do"
            case id
            case action
            case present
            case url
            case source
            case kind
            case changes = "set"
            case pin
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            self.name = try fields.decodeIfPresent(String.self, forKey: .name)
            self.id = try fields.decodeIfPresent(Scalar.self, forKey: .id)?.text
            self.action = try fields.decodeIfPresent(String.self, forKey: .action)
            self.present = try fields.decodeIfPresent(String.self, forKey: .present)
            self.url = try fields.decodeIfPresent(String.self, forKey: .url)
            self.source = try fields.decodeIfPresent(String.self, forKey: .source)
            self.kind = try fields.decodeIfPresent(String.self, forKey: .kind)
            self.changes = try fields.decodeIfPresent([String: Scalar].self, forKey: .changes)
        }
    }

    /// A value of JSON as a profile's file would write it.
    struct Scalar: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let truth = try? value.decode(Bool.self) {
                self.text = truth ? "true" : "false"
            } else if let number = try? value.decode(Int64.self) {
                self.text = "\(number)"
            } else {
                self.text = try value.decode(String.self)
            }
        }
    }

    /// Reads a line; the PIN is taken out of it first, so that no decoder ever sees its digits.
    init(_ line: borrowing WipedBuffer) throws(DriveRefusal) {
        let (redacted, pin) = PINRedaction.take(from: line)
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(redacted)) else {
            throw DriveRefusal(.badLine, "a line must be one JSON object, such as {\"do\":\"tap\",\"action\":\"next\"}")
        }
        self.fields = fields
        self.id = fields.id
        self.pin = pin
        guard let word = fields.name else {
            throw DriveRefusal(.badLine, "a line must say what to do, such as {\"do\":\"launch\"}", id: fields.id)
        }
        let names = Name.allCases.map(\.rawValue)
        guard let name = Name(rawValue: word) else {
            throw DriveRefusal(
                .unknownCommand,
                "there is no such command; there are \(names.joined(separator: ", "))",
                nearest: NearestName.to(word, among: names),
                id: fields.id
            )
        }
        self.name = name
    }

    /// A field that the command cannot do without.
    func required(_ value: String?, _ name: String) throws(DriveRefusal) -> String {
        guard let value else {
            throw DriveRefusal(.missingField, "`\(self.name.rawValue)` needs `\(name)`").of(self)
        }
        return value
    }

    /// A field that is one of a closed list of names.
    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ text: String,
        _ type: Value.Type
    ) throws(DriveRefusal) -> Value {
        if let value = Value(rawValue: text) { return value }
        let names = type.allCases.map(\.rawValue)
        throw DriveRefusal(
            .badValue,
            "one of \(names.joined(separator: ", ")) is expected",
            nearest: NearestName.to(text, among: names)
        ).of(self)
    }

    /// The link that the line carries, if it carries one.
    func link() throws(DriveRefusal) -> IncomingLink? {
        guard let url = self.fields.url else { return nil }
        guard let source = self.fields.source else { return IncomingLink(url) }
        return IncomingLink(url, from: try self.choice(source, IncomingLink.Source.self))
    }
}
