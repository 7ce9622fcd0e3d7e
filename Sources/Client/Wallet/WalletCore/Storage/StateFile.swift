internal import FoundationEssentials
internal import Vocabulary

/// The format of `state.json`, which contains the state and a checksum of all its values.
///
/// The checksum detects damage. For example, a flipped bit in a key name could make a wallet look as if it had not been
/// set up. The checksum does not protect against deliberate changes to the file; only the slots and the server do.
struct StateFile: Codable {
    /// The first version with a checksum.
    private static let checkedVersion = 3

    var state: LocalState
    /// Nil in files written by earlier versions, which are replaced after they have been read.
    private var checksum: StoredID<SHA256DigestKind>?

    private enum Key: String, CodingKey {
        case checksum
    }

    /// Adds the checksum to a state.
    init(_ state: LocalState) {
        self.state = state
        self.checksum = Self.checksum(of: self.tree)
    }

    /// Reads a file.
    ///
    /// - Throws: ``StorageError/newerVersion(_:version:)``, or ``StorageError/notAsWritten(_:)`` if the file's
    ///   structure, a key or a value is not as the app wrote it.
    init(reading bytes: [UInt8]) throws(StorageError) {
        let data = Data(bytes)
        if let version = (try? JSONDecoder().decode(Version.self, from: data))?.version,
            version > LocalState.currentVersion
        {
            throw .newerVersion(.state, version: version)
        }
        guard let file = try? JSONDecoder().decode(StateFile.self, from: data),
            let tree = try? JSONDecoder().decode(StoredTree.self, from: data), tree == file.tree,
            file.isChecked ? file.checksum == Self.checksum(of: tree) : file.checksum == nil
        else { throw .notAsWritten(.state) }
        self = file
    }

    init(from decoder: any Decoder) throws {
        self.state = try LocalState(from: decoder)
        self.checksum = try decoder.container(keyedBy: Key.self).decodeIfPresent(
            StoredID<SHA256DigestKind>.self,
            forKey: .checksum
        )
    }

    func encode(to encoder: any Encoder) throws {
        try self.state.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(self.checksum, forKey: .checksum)
    }

    /// Whether files of this version have a checksum.
    var isChecked: Bool { self.state.version >= Self.checkedVersion }

    /// The contents of the file.
    var bytes: [UInt8] { LocalStore.encode(self) }

    private var tree: StoredTree {
        guard let tree = try? JSONDecoder().decode(StoredTree.self, from: Data(self.bytes)) else {
            preconditionFailure("an encoded state decodes")
        }
        return tree
    }

    private static func checksum(of tree: StoredTree) -> StoredID<SHA256DigestKind>? {
        guard case .object(var fields) = tree else { return nil }
        fields["checksum"] = nil
        return StoredID(StoredTree.object(fields).digest)
    }

    private struct Version: Codable {
        var version: Int
    }
}
