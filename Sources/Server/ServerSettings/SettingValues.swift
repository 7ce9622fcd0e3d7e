/// Where to listen: a host or address, and a port.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// 0 lets the system choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `0.0.0.0:7400`, `pin.example.org:7400` or `[::1]:7400`.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.init(host: host, port: port)
    }

    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// An Android app that may register: a package signed with one certificate.
package struct AndroidAppSetting: Hashable, Sendable, CustomStringConvertible {
    /// As `org.example.wallet`.
    package var package: String
    /// SHA-256 of the signing certificate, 32 bytes.
    package var signingDigest: [UInt8]
    /// The lowest version code that may register.
    package var minimumVersion: UInt64

    package init(package: String, signingDigest: [UInt8], minimumVersion: UInt64 = 0) {
        self.package = package
        self.signingDigest = signingDigest
        self.minimumVersion = minimumVersion
    }

    /// Reads `PACKAGE:DIGEST` or `PACKAGE:DIGEST:VERSION`; the digest in hexadecimal.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 || parts.count == 3, Self.isDottedName(parts[0]),
            let digest = Self.digest(parts[1])
        else { return nil }
        guard let version = parts.count == 3 ? UInt64(parts[2]) : 0 else { return nil }
        self.init(package: parts[0], signingDigest: digest, minimumVersion: version)
    }

    package var description: String {
        let digest = self.signingDigest.map { Self.hexadecimal($0) }.joined()
        return self.minimumVersion == 0
            ? "\(self.package):\(digest)" : "\(self.package):\(digest):\(self.minimumVersion)"
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return text.count == 1 ? "0" + text : text
    }

    private static func digest(_ text: String) -> [UInt8]? {
        guard text.utf8.count == 64 else { return nil }
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard rest.prefix(2).allSatisfy({ $0.isASCII && $0.isHexDigit }),
                let byte = UInt8(rest.prefix(2), radix: 16)
            else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    static func isDottedName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.contains(".") && !text.contains("..")
            && text.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "._-".contains(character))
            }
    }
}

/// Whether an Android key must be kept by a trusted environment or by a separate security chip.
package enum SecurityLevelSetting: String, Hashable, Sendable, CaseIterable {
    case tee
    case strongBox = "strongbox"
}

/// A state of an Android device's verified boot that may be accepted.
package enum BootStateSetting: String, Hashable, Sendable, CaseIterable {
    case verified
    case selfSigned = "self-signed"
}

/// How an Android device's attestation key came to it.
package enum ProvisioningSetting: String, Hashable, Sendable, CaseIterable {
    case factory
    case remote
}

/// An App Attest environment.
package enum AppleEnvironmentSetting: String, Hashable, Sendable, CaseIterable {
    case production
    case development
}

/// What is done with a registration while the status list is older than allowed.
package enum StaleStatusListSetting: String, Hashable, Sendable, CaseIterable {
    case refuse
    case warn
}

/// How much is logged.
package enum LogLevelSetting: String, Hashable, Sendable, CaseIterable {
    case debug
    case info
    case notice
    case warning
    case error
}

/// The form of a log line.
package enum LogFormatSetting: String, Hashable, Sendable, CaseIterable {
    case text
    case json
}

/// The month, and perhaps the day, of an Android security patch: `2025-06` or `2025-06-05`.
package struct PatchLevelSetting: Hashable, Sendable, CustomStringConvertible {
    /// `2000...2999`.
    package var year: Int
    /// `1...12`.
    package var month: Int
    /// `1...31`, or nil where only the month counts.
    package var day: Int?

    /// Reads `2025-06` or `2025-06-05`.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, parts[0].count == 4, parts.dropFirst().allSatisfy({ $0.count == 2 })
        else { return nil }
        let numbers = parts.compactMap { part in part.allSatisfy { $0.isASCII && $0.isNumber } ? Int(part) : nil }
        guard numbers.count == parts.count, (2000...2999).contains(numbers[0]), (1...12).contains(numbers[1]) else {
            return nil
        }
        if numbers.count == 3, !(1...31).contains(numbers[2]) { return nil }
        self.year = numbers[0]
        self.month = numbers[1]
        self.day = numbers.count == 3 ? numbers[2] : nil
    }

    package var description: String {
        ([self.month] + (self.day.map { [$0] } ?? []))
            .reduce("\(self.year)") { text, number in text + (number < 10 ? "-0" : "-") + "\(number)" }
    }
}
