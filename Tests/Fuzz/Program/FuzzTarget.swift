/// An entry point of the production code for bytes from outside.
protocol FuzzTarget: AnyObject {
    /// The encoding whose structure mutations keep, or nil for plain bytes.
    var format: InputFormat? { get }
    /// The number of bytes before the structure; each selects how the input is used.
    var optionByteCount: Int { get }
    /// Complete inputs that the first mutations start from.
    var seeds: [[UInt8]] { get }
    /// Words of the input's language, for mutations.
    var words: [String] { get }
    /// Runs one input; the run must end, with any result.
    func run(_ input: [UInt8])
}

extension FuzzTarget {
    var format: InputFormat? { nil }
    var optionByteCount: Int { 0 }
    var words: [String] { [] }

    /// Returns the parts of an input, or nil if it has no structure.
    func nodes(of input: [UInt8]) -> [Node]? { self.format?.nodes(of: Array(input.dropFirst(self.optionByteCount))) }

    /// Returns the input with a changed structure, or nil if the input has no structure.
    func mutated(_ input: [UInt8], by mutator: inout TreeMutator, _ mutateBytes: ([UInt8]) -> [UInt8]) -> [UInt8]? {
        guard let format, !mutator.breaksStructure(), let nodes = self.nodes(of: input) else { return nil }
        var options = Array(input.prefix(self.optionByteCount))
        if !options.isEmpty, mutator.chance(16) { options = mutateBytes(options) }
        options = Array((options + [UInt8](repeating: 0, count: self.optionByteCount)).prefix(self.optionByteCount))
        return options + format.bytes(of: mutator.mutated(nodes))
    }

    /// Returns an input with parts of two inputs, or nil if one of them has no structure.
    func crossed(_ first: [UInt8], _ second: [UInt8], by mutator: inout TreeMutator) -> [UInt8]? {
        guard let format, let left = self.nodes(of: first), let right = self.nodes(of: second) else { return nil }
        return first.prefix(self.optionByteCount) + format.bytes(of: mutator.crossed(left, right))
    }
}

/// Ends the process with a message unless a promise is kept.
///
/// An optimized build traps in `precondition` without its message.
func require(_ isKept: Bool, _ message: @autoclosure () -> String) {
    if !isKept { fatalError(message()) }
}

/// The targets by name.
enum Targets {
    /// Creates a target that keeps its files in a folder.
    typealias Make = @Sendable (_ folder: String) throws -> any FuzzTarget

    static let all: [(name: String, make: Make)] = [
        ("server", { try ServerTarget(folder: $0) }),
        ("messages", { _ in MessagesTarget() }),
        ("frames", { _ in FramesTarget() }),
        ("tls", { try TLSTarget(folder: $0) }),
        ("android", { _ in AndroidTarget() }),
        ("apple", { _ in AppleTarget() }),
        ("der", { _ in DERTarget() }),
        ("cbor", { _ in CBORTarget() }),
        ("yaml", { _ in YAMLTarget() }),
        ("admin", { try AdminTarget(folder: $0) }),
        ("portal", { _ in try PortalTarget() }),
        ("backup", { try BackupTarget(folder: $0) }),
        ("wal", { try LogTarget(folder: $0) }),
        ("audit", { try AuditTarget(folder: $0) }),
        ("key-file", { KeyFileTarget(folder: $0) }),
    ]
}
