internal import HostSystem
internal import ConfigText
internal import Vocabulary
public import Yams

extension DeviceProfile {
    /// Reads a profile's file; what it does not state is as in a healthy device of its platform.
    public init(file path: String) throws(ProfileError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.read(path, atMost: 65_536)
        } catch {
            throw ProfileError(problems: [ProfileProblem(source: path, line: nil, key: "", text: "\(error)")])
        }
        self = try Self(yaml: String(decoding: bytes, as: UTF8.self), source: path)
    }

    /// Reads a profile's text; problems name `source`.
    public init(yaml text: String, source: String) throws(ProfileError) {
        let root = try Self.root(of: text, source)
        try self.init(root, source: source)
    }

    /// Reads a profile that stands within a larger file, such as a scenario.
    public init(_ node: Node, source: String) throws(ProfileError) {
        let mapping = try Self.mapping(node, source)
        guard let platform = mapping["platform"] else {
            throw ProfileError(problems: [
                ProfileProblem(
                    source: source,
                    line: node.mark?.line,
                    key: "platform",
                    text: "it must be set: \(Platform.allCases.map(\.rawValue).joined(separator: " or "))"
                )
            ])
        }
        self.init(platform.scalar.flatMap { Platform(rawValue: $0.string) } ?? .android)
        try self.apply(node, source: source)
    }

    /// Changes what the node states and nothing else; nothing at all where it has a problem.
    public mutating func apply(_ node: Node, source: String) throws(ProfileError) {
        var changed = self
        var problems: [ProfileProblem] = []
        let mapping = try Self.mapping(node, source)
        for (key, value) in mapping {
            let name = key.scalar?.string ?? "?"
            let text: String?
            if let field = ProfileTable.all.first(where: { $0.name == name }) {
                text = field.read(value, &changed)
            } else {
                let names = ProfileTable.all.map(\.name)
                let hint = NearestName.to(name, among: names).map { "; did you mean `\($0)`?" }
                text = "there is no such key\(hint ?? "; there are \(names.joined(separator: ", "))")"
            }
            guard let text else { continue }
            problems.append(ProfileProblem(source: source, line: key.mark?.line, key: name, text: text))
        }
        if mapping["biometrics"] != nil, mapping["passcode"] != nil, changed.usableBiometrics != changed.biometrics {
            let line = mapping.first { $0.key.scalar?.string == "biometrics" }?.key.mark?.line
            let text = "nobody can be enrolled on a phone without a passcode"
            problems.append(ProfileProblem(source: source, line: line, key: "biometrics", text: text))
        }
        guard problems.isEmpty else { throw ProfileError(problems: problems) }
        self = changed
    }

    /// Changes one key, as a command line or a driver names it.
    public mutating func set(_ key: String, to value: String) throws(ProfileError) {
        let node = Node([(Node(key), try Self.root(of: value, key))])
        try self.apply(node, source: "profile")
    }

    /// The names of all keys, with what each takes and means.
    public static let keys: [(name: String, allowed: String, text: String)] = ProfileTable.all.map {
        ($0.name, $0.allowed, $0.text)
    }

    /// The file's text; it states everything.
    public var yaml: String {
        get throws {
            try Yams.serialize(node: Node(ProfileTable.all.map { (Node($0.name), $0.write(self)) }), sortKeys: false)
        }
    }

    private static func root(of text: String, _ source: String) throws(ProfileError) -> Node {
        func failure(_ line: Int?, _ text: String) -> ProfileError {
            ProfileError(problems: [ProfileProblem(source: source, line: line, key: "", text: text)])
        }
        let node: Node?
        do throws(YAMLFault) {
            node = try YAMLText.compose(text)
        } catch {
            throw failure(error.line, error.message)
        }
        guard let node else { throw failure(nil, "it is empty") }
        return node
    }

    private static func mapping(_ node: Node, _ source: String) throws(ProfileError) -> Node.Mapping {
        guard let mapping = node.mapping else {
            throw ProfileError(problems: [
                ProfileProblem(source: source, line: node.mark?.line, key: "", text: "keys with values are expected")
            ])
        }
        return mapping
    }
}
