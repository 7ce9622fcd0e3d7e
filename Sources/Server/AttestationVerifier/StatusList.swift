internal import FoundationEssentials
package import Vocabulary

/// Google's list of attestation certificates that no longer count, by serial number.
package struct StatusList: Hashable, Sendable {
    /// What the list says of a certificate.
    package enum Status: Hashable, Sendable {
        case revoked
        case suspended
    }

    /// Serial numbers in lower-case hexadecimal without leading zeros.
    private let entries: [String: Status]
    /// When the list was fetched: its age is counted from here.
    package let fetched: Timestamp

    /// Reads the JSON as Google publishes it (https://android.googleapis.com/attestation/status); nil for anything else.
    ///
    /// A status of another name than SUSPENDED counts as revoked: a word not known here is no reason to trust.
    package init?(json: [UInt8], fetched: Timestamp) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(json)) else { return nil }
        var entries: [String: Status] = [:]
        for (serial, entry) in file.entries {
            let key = Self.normalized(serial)
            let status: Status = entry.status == "SUSPENDED" ? .suspended : .revoked
            entries[key] = entries[key] == .revoked ? .revoked : status
        }
        self.entries = entries
        self.fetched = fetched
    }

    /// How many certificates the list names.
    package var count: Int { self.entries.count }

    /// What the list says of a serial number in hexadecimal; nil where it does not name it.
    package func status(of serialNumber: String) -> Status? {
        self.entries[Self.normalized(serialNumber)]
    }

    private static func normalized(_ serialNumber: String) -> String {
        let digits = serialNumber.lowercased().drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
    }

    private struct File: Decodable {
        struct Entry: Decodable {
            let status: String
        }

        let entries: [String: Entry]
    }
}

/// What is asked of the status list before an Android device is accepted.
package struct StatusListPolicy: Hashable, Sendable {
    /// The oldest list that counts; nil where no list is demanded.
    package var maximumAge: Duration?
    /// Whether evidence is accepted with a warning while there is no list, or an older one.
    package var acceptsStale: Bool

    package init(maximumAge: Duration? = nil, acceptsStale: Bool = false) {
        self.maximumAge = maximumAge
        self.acceptsStale = acceptsStale
    }

    /// Whether this policy is not content with the list at `time`.
    package func isStale(_ list: StatusList?, at time: Timestamp) -> Bool {
        guard let maximumAge = self.maximumAge else { return false }
        guard let list else { return true }
        return time - list.fetched > maximumAge
    }
}
