// Who may connect on whose behalf, and what one source may ask for.
extension SettingTable {
    static let proxyProtocol: [any SettingDeclaration] = [Self.balancers]

    package static let balancers = Setting(
        "proxy-protocol.from",
        .list(of: .network),
        standard: [],
        "Addresses whose connections must begin with a PROXY protocol header of version 2, before TLS; the source that it "
            + "names is the one that limits, log and `admin sessions` use. From other addresses such a header ends the "
            + "connection. Name the balancers only: whoever is named can claim any source."
    )
    package static let handshakes = Setting(
        "limits.handshakes",
        .number(10...1_000_000),
        standard: 1_000,
        "Connections at a time that have not finished their TLS handshake; when there are more, one of the oldest is "
            + "closed, so that newcomers get their turn and who says nothing keeps no place."
    )
    package static let longFrames = Setting(
        "limits.long-frames",
        .number(10...1_000_000),
        standard: 500,
        "Connections at a time that have sent the beginning of a message longer than 4,096 bytes, which only a registration "
            + "is, and not its end; when there are more, one of the oldest is closed. Each may hold some 130 KiB."
    )
    package static let framesPerSource = Setting(
        "limits.frames-per-source",
        .number(0...1_000_000),
        standard: 500,
        "Calls a second from one IPv4 address or one IPv6 network of 64 bits, 0 for no such limit; what is above gets "
            + "rate-limited and nothing of it is looked at. Calls in sessions and all others have this each, so that "
            + "whoever has no wallet takes nothing from those who have one. An unlock is three calls."
    )
    package static let frameBurstPerSource = Setting(
        "limits.frame-burst-per-source",
        .number(1...1_000_000),
        standard: 5_000,
        "Calls that one source may make at once after it was silent for long enough."
    )
    package static let enrollmentsPerSource = Setting(
        "limits.enrollments-per-source",
        .number(0...1_000_000),
        standard: 60,
        "BeginEnrollment and Register calls a minute from one source, 0 for no such limit. A registration takes one of "
            + "each; checking its evidence costs as much as several PIN checks."
    )
    package static let enrollmentBurstPerSource = Setting(
        "limits.enrollment-burst-per-source",
        .number(2...1_000_000),
        standard: 300,
        "The same at once, as when many people behind one address set up the app on one day."
    )
}

extension SettingKind where Value == AddressRange {
    /// An address or a network of addresses.
    static var network: SettingKind {
        .one(
            "network",
            "an address or network, as 127.0.0.1, 10.0.0.0/8 or 'fd00::/8'",
            // In a list YAML wants quotes around what begins with a colon.
            read: { AddressRange($0.replacing("'", with: "")) },
            show: { $0.description.contains(":") ? "'\($0)'" : $0.description }
        )
    }
}
