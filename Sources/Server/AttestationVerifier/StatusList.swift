internal import FoundationEssentials
package import Vocabulary

/// Google's list of revoked and suspended attestation certificates, by serial number.
package struct StatusList: Hashable, Sendable {
    /// The status of a certificate in the list.
    package enum Status: Hashable, Sendable {
        case revoked, suspended
    }

    /// The statuses by serial number, in lowercase hexadecimal without leading zeros.
    private let entries: [String: Status]
    /// The time at which the list was fetched.
    ///
    /// Its age is measured from this time.
    package let fetched: Timestamp

    /// Parses the JSON published by Google (https://android.googleapis.com/attestation/status).
    ///
    /// Returns nil for anything else, such as a text with a byte order mark, or an entry whose name is not a serial
    /// number in hexadecimal: the certificate that it means would be trusted. Any status other than SUSPENDED counts as
    /// revoked, because an unknown status is no reason to trust a certificate.
    package init?(json: [UInt8], fetched: Timestamp) {
        // The decoder would also accept a byte order mark, UTF-16 and UTF-32.
        let first = json.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard first == UInt8(ascii: "{"), !json.contains(0),
            let file = try? JSONDecoder().decode(File.self, from: Data(json))
        else { return nil }
        var entries: [String: Status] = [:]
        for (serial, entry) in file.entries {
            guard !serial.isEmpty, serial.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
            let key = Self.normalized(serial)
            let status: Status = entry.status == "SUSPENDED" ? .suspended : .revoked
            entries[key] = entries[key] == .revoked ? .revoked : status
        }
        self.entries = entries
        self.fetched = fetched
    }

    /// The number of certificates in the list.
    package var count: Int { self.entries.count }

    /// Returns the status of a serial number in hexadecimal, or nil if it is not in the list.
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

/// The requirements on the status list for accepting an Android device.
package struct StatusListPolicy: Hashable, Sendable {
    /// The maximum age of the list, or nil if no list is required.
    package var maximumAge: Duration?
    /// Whether to accept evidence with a warning if the list is missing or too old.
    package var acceptsStale: Bool

    package init(maximumAge: Duration? = nil, acceptsStale: Bool = false) {
        self.maximumAge = maximumAge
        self.acceptsStale = acceptsStale
    }

    /// Returns whether the policy requires a list and `list` is missing or too old at `time`.
    package func isStale(_ list: StatusList?, at time: Timestamp) -> Bool {
        guard let maximumAge = self.maximumAge else { return false }
        guard let list else { return true }
        return time - list.fetched > maximumAge
    }
}
