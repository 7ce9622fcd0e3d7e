internal import Evidence
internal import Vocabulary

/// One certificate of a test authority with its key.
struct LabIssuer: Sendable {
    let certificate: [UInt8]
    let subject: DistinguishedName
    let key: SigningKey

    /// The organization that marks the names of a lab's authorities; servers outside a lab reject roots that carry
    /// it.
    static let organization = DistinguishedName.labOrganization

    /// A self-signed root.
    static func root(_ subject: DistinguishedName) -> LabIssuer {
        let key = SigningKey()
        let template = Self.template(subject, key: key, serialNumber: LabSerial.random(), validity: LabDates.authority)
        return LabIssuer(certificate: template.signed(by: key, issuer: subject), subject: subject, key: key)
    }

    /// An authority below this one, with a new key.
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

    /// Signs a certificate with the contents of the template.
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

/// Serial numbers of a lab's certificates.
enum LabSerial {
    /// Sixteen random bytes; the first one is set so that the number is positive and not zero.
    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return [UInt8.random(in: 0x10...0x7F, using: &generator)]
            + (0..<15).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// Validity periods of a lab's certificates; wide, because the lab's clock can be moved forward by years.
enum LabDates {
    private static let day: Int64 = 86_400_000
    private static let start2020 = Timestamp(milliseconds: 1_577_836_800_000)
    private static let start2060 = Timestamp(milliseconds: 2_840_140_800_000)
    private static let start2048 = Timestamp(milliseconds: 2_461_449_600_000)

    /// 2020 to 2060.
    static let authority = Self.start2020...Self.start2060
    /// 1970 to 2048, as Android devices without a clock date their leaves.
    static let androidLeaf = Timestamp(milliseconds: 0)...Self.start2048

    /// A period from a day before `time` for `count` days.
    static func days(_ count: Int64, around time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: -1, days: count)
    }

    /// A period that ended an hour before `time`.
    static func past(before time: Timestamp) -> ClosedRange<Timestamp> {
        let end = time.milliseconds - 3_600_000
        return Timestamp(milliseconds: end - 30 * Self.day)...Timestamp(milliseconds: end)
    }

    /// A period that begins a day after `time`.
    static func future(after time: Timestamp) -> ClosedRange<Timestamp> {
        Self.from(time, dayOffset: 1, days: 30)
    }

    private static func from(_ time: Timestamp, dayOffset: Int64, days: Int64) -> ClosedRange<Timestamp> {
        let start = time.milliseconds + dayOffset * Self.day
        return Timestamp(milliseconds: start)...Timestamp(milliseconds: start + days * Self.day)
    }
}
