internal import FoundationEssentials
internal import Vocabulary

/// The format of `state.json`, which contains the state and a checksum of all its values.
///
/// The checksum detects damage. For example, a flipped bit in a key name could make a wallet look as if it had not been
/// set up. The checksum does not protect against deliberate changes to the file; only the slots and the server do.
struct StateFile: Codable {
    let state: LocalState
    /// Nil only until ``init(_:)`` has computed it.
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
    /// - Throws: ``StorageError/otherVersion(_:version:)``, or ``StorageError/notAsWritten(_:)`` if the file's
    ///   structure, a key or a value is not as the app wrote it.
    init(reading bytes: [UInt8]) throws(StorageError) {
        let data = Data(bytes)
        if let version = (try? JSONDecoder().decode(Version.self, from: data))?.version,
            version != LocalState.currentVersion
        {
            throw .otherVersion(.state, version: version)
        }
        guard let file = try? JSONDecoder().decode(StateFile.self, from: data),
            let tree = try? JSONDecoder().decode(StoredTree.self, from: data), tree == file.tree,
            file.checksum == Self.checksum(of: tree)
        else { throw .notAsWritten(.state) }
        self = file
    }

    init(from decoder: any Decoder) throws {
        self.state = try LocalState(from: decoder)
        self.checksum = try decoder.container(keyedBy: Key.self).decode(
            StoredID<SHA256DigestKind>.self,
            forKey: .checksum
        )
    }

    func encode(to encoder: any Encoder) throws {
        try self.state.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(self.checksum, forKey: .checksum)
    }

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
