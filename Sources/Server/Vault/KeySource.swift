internal import Secrets
internal import Vocabulary

/// The place of a root, from which keys are derived with HKDF-SHA256 without a salt (RFC 5869).
///
/// The same root gives the same keys in both places.
enum KeySource: Sendable {
    /// The root is in the key file, and its pseudorandom key in this process.
    case memory(MemoryRoot)
    /// A module computes with the pseudorandom key, which never leaves it.
    case module(ModuleKeys)
}

/// A root in this process.
///
/// This is a class because an enum case cannot hold a noncopyable secret.
final class MemoryRoot: Sendable {
    let secret: SecretBytes
    let key: HMACKey

    init(_ secret: consuming SecretBytes) {
        self.key = HMACKey(extractedFrom: secret)
        self.secret = secret
        self.secret.keepOutOfSwap()
        self.key.keepOutOfSwap()
    }
}

/// The name of a root, which is its label in a module.
struct RootName: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String {
        case index
        case key
        case history
    }

    let kind: Kind
    /// The version, or 0 for the index, which has none.
    let number: UInt32

    static let index = RootName(kind: .index, number: 0)

    var description: String { self.words.joined(separator: "-") }

    /// The words in the key file.
    var words: [String] { self.kind == .index ? [self.kind.rawValue] : [self.kind.rawValue, "\(self.number)"] }
}

/// A root of the vault's keys.
struct KeyRoot: Sendable {
    static let byteCount = 32
    static let checkByteCount = 4
    private static let checkInfo = Array("remote-pin/1 vault check".utf8)

    let name: RootName
    /// Four bytes derived from the root, which reveal a mistyped or damaged root, or a module with another one.
    ///
    /// They also allow comparing two files without showing the roots.
    let check: [UInt8]
    let source: KeySource

    init(_ name: RootName, check: [UInt8], in module: ModuleKeys) {
        (self.name, self.check, self.source) = (name, check, .module(module))
    }

    private init(_ name: RootName, _ root: MemoryRoot) {
        (self.name, self.source) = (name, .memory(root))
        self.check = root.key.derive(info: Self.checkInfo, count: Self.checkByteCount).exposedBytes()
    }

    /// Returns nil if the root is not 32 bytes long.
    init?(_ name: RootName, _ secret: consuming SecretBytes) {
        guard secret.count == Self.byteCount else { return nil }
        self.init(name, MemoryRoot(secret))
    }

    /// Creates a root from the operating system's generator.
    static func random(_ name: RootName) -> KeyRoot { KeyRoot(name, MemoryRoot(.random(count: Self.byteCount))) }

    /// Returns the root that the module has under this name, or nil if it has none.
    static func find(_ name: RootName, in module: ModuleKeys) async throws(ModuleFailure) -> KeyRoot? {
        do throws(ModuleFailure) {
            let check = try await module.derive(info: Self.checkInfo, count: Self.checkByteCount, under: name)
            return KeyRoot(name, check: check.exposedBytes(), in: module)
        } catch .unknown {
            return nil
        }
    }

    /// Returns whether the same keys are derived from both.
    func isSame(as other: KeyRoot) -> Bool {
        switch (self.source, other.source) {
        case (.memory(let own), .memory(let other)): own.secret.isEqual(to: other.secret)
        case (.module(let own), .module(let module)):
            own === module && self.name == other.name && self.check == other.check
        case (.memory, .module), (.module, .memory): false
        }
    }

    var isInModule: Bool { if case .module = self.source { true } else { false } }

    /// The message whose code begins with the check value.
    static var checkMessage: [UInt8] { Self.checkInfo + [1] }

    func derive(info: [UInt8], count: Int = 32) async throws(ModuleFailure) -> SecretBytes {
        switch self.source {
        case .memory(let root): root.key.derive(info: info, count: count)
        case .module(let module): try await module.derive(info: info, count: count, under: self.name)
        }
    }
}

extension ModuleKeys {
    /// Returns `count` bytes derived from a root, the same as ``HMACKey/derive(info:count:)``.
    func derive(info: [UInt8], count: Int, under name: RootName) async throws(ModuleFailure) -> SecretBytes {
        var derived = SecretBytes(copying: [UInt8]())
        var block: [UInt8] = []
        defer { block.wipe() }
        while derived.count < count {
            let number = UInt8(derived.count / ModuleCode.byteCount + 1)
            let code = try await self.code(of: block + info + [number], under: name)
            derived = derived.concatenated(with: code.bytes)
            block.wipe()
            // Most keys have one block, which no other array holds.
            if derived.count < count { block = code.bytes.exposedBytes() }
        }
        return derived.withBytes { span in SecretBytes(copying: span.extracting(0..<count)) }
    }
}
