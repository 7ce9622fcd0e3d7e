internal import FoundationEssentials
internal import Vocabulary

/// The format of `state.json`, which contains the state and a checksum over all of its values.
///
/// The checksum detects damage, such as a flipped bit in a key's name, which could make a wallet look as if it were not
/// set up. It does not protect against manual changes to the file; only the slots and the server do that.
struct StateFile: Codable {
    /// The first version with a checksum.
    private static let checkedVersion = 3

    var state: LocalState
    /// Nil in files written by earlier versions, which are replaced when they are read.
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
    /// - Throws: ``StorageError/newerVersion(_:version:)``, or ``StorageError/notAsWritten(_:)`` if any value or key,
    ///   or the form of the file, is not as it was written by the app.
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

    /// True if the file's version has a checksum.
    var isChecked: Bool { self.state.version >= Self.checkedVersion }

    /// The contents of the file.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(self) else { preconditionFailure("a state of plain values encodes") }
        return Array(data)
    }

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
