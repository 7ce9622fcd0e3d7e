internal import Evidence
internal import Vocabulary

/// A certificate in a test authority, with its key.
struct LabIssuer: Sendable {
    let certificate: [UInt8]
    let subject: DistinguishedName
    let key: SigningKey

    /// The organization in the names of a lab's authorities.
    ///
    /// Servers outside of a lab reject roots that contain it.
    static let organization = DistinguishedName.labOrganization

    /// Creates a self-signed root.
    static func root(_ subject: DistinguishedName) -> LabIssuer {
        let key = SigningKey()
        let template = Self.template(subject, key: key, serialNumber: LabSerial.random(), validity: LabDates.authority)
        return LabIssuer(certificate: template.signed(by: key, issuer: subject), subject: subject, key: key)
    }

    /// Creates an authority below this one, with a new key.
    func authority(
        _ subject: DistinguishedName,
        serialNumber: [UInt8] = LabSerial.random(),
        validity: ClosedRange<Timestamp> = LabDates.authority,
        marked: Bool = true
    ) -> LabIssuer {
        let key = SigningKey()
        var template = Self.template(subject, key: key, serialNumber: serialNumber, validity: validity)
        if !marked { template.extensions = [.signsCertificates] }
        template.extensions.append(.authorityKey(self.key.publicKey))
        return LabIssuer(certificate: self.issue(template), subject: subject, key: key)
    }

    /// Issues a certificate from a template.
    func issue(_ template: CertificateTemplate) -> [UInt8] {
        template.signed(by: self.key, issuer: self.subject)
    }

    private static func template(
        _ subject: DistinguishedName,
        key: SigningKey,
        serialNumber: [UInt8],
        validity: ClosedRange<Timestamp>
    ) -> CertificateTemplate {
        CertificateTemplate(
            serialNumber: serialNumber,
            subject: subject,
            validity: validity,
            publicKey: key.publicKey,
            extensions: [.authority, .signsCertificates, .subjectKey(key.publicKey)]
        )
    }
}

/// Serial numbers for a lab's certificates.
enum LabSerial {
    /// Returns sixteen random bytes.
    ///
    /// The first one ensures that the number is positive.
    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return [UInt8.random(in: 0x10...0x7F, using: &generator)]
            + (0..<15).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// Validity periods for a lab's certificates.
///
/// They are long because the lab's clock can be moved forward by years.
enum LabDates {
    private static let day: Int64 = 86_400_000
    private static let start2020 = Timestamp(milliseconds: 1_577_836_800_000)
    private static let start2060 = Timestamp(milliseconds: 2_840_140_800_000)
    private static let start2048 = Timestamp(milliseconds: 2_461_449_600_000)

    /// From 2020 to 2060.
    static let authority = Self.start2020...Self.start2060
    /// From 1970 to 2048, as used by Android devices without a clock for their leaves.
    static let androidLeaf = Timestamp(milliseconds: 0)...Self.start2048

    /// Returns a period of `count` days that begins a day before `time`.
    static func days(_ count: Int64, around time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: -1, days: count)
    }

    /// Returns a period that ended an hour before `time`.
    static func past(before time: Timestamp) -> ClosedRange<Timestamp> {
        let end = time.milliseconds - 3_600_000
        return Timestamp(milliseconds: end - 30 * Self.day)...Timestamp(milliseconds: end)
    }

    /// Returns a period that begins a day after `time`.
    static func future(after time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: 1, days: 30)
    }

    private static func from(_ time: Timestamp, dayOffset: Int64, days: Int64) -> ClosedRange<Timestamp> {
        let start = time.milliseconds + dayOffset * Self.day
        return Timestamp(milliseconds: start)...Timestamp(milliseconds: start + days * Self.day)
    }
}
