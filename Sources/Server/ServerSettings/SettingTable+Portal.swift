internal import Foundation
internal import Vocabulary

// The deletion portal: what the server opens for it, and what its own program reads.
extension SettingTable {
    static let portal: [any SettingDeclaration] = [
        Self.portalSocket, Self.portalGroup, Self.portalListen, Self.portalTrustedProxies, Self.portalProduct,
        Self.portalTimeZone, Self.portalHelpLink,
    ]

    package static let portalSocket = Setting(
        "portal.socket",
        .optional(.path),
        standard: .some(nil),
        "Unix-domain socket over which the deletion portal reaches the server, at most 100 bytes long; with none the server "
            + "opens none. It takes deletion codes and nothing else."
    )
    package static let portalGroup = Setting(
        "portal.group",
        .optional(.group),
        standard: .some(nil),
        "Group that may open the portal's socket (mode 0660), so that the portal runs as a user of its own; with none "
            + "only the server's user may (0600)."
    )
    package static let portalListen = Setting(
        "portal.listen",
        .one("address", "HOST:PORT, as 127.0.0.1:7480", read: { ListenAddress($0) }, show: { "\($0)" }),
        standard: ListenAddress(host: "127.0.0.1", port: 7480),
        "Address and port of the portal's plain HTTP, for a proxy in front of it that speaks TLS. Port 0 takes a free one."
    )
    package static let portalTrustedProxies = Setting(
        "portal.trusted-proxies",
        .list(of: .network),
        standard: [AddressRange.loopback4, AddressRange.loopback6],
        "Whose word on a person's address is believed: the portal takes the last address in X-Forwarded-For that is not one "
            + "of these, and where the connection itself is not from one, the connection's."
    )
    package static let portalProduct = Setting(
        "portal.product",
        .one(
            "text",
            "1 to 60 characters",
            read: { text in
                (1...60).contains(text.count)
                    && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
                    ? text : nil
            },
            show: { $0 }
        ),
        standard: "NL Wallet",
        "What the app is called on the page."
    )
    package static let portalTimeZone = Setting(
        "portal.time-zone",
        .one(
            "time zone",
            "a name of the time zone database, as Europe/Amsterdam or UTC",
            read: { TimeZone(identifier: $0) == nil ? nil : $0 },
            show: { $0 }
        ),
        standard: "Europe/Amsterdam",
        "In which time zone the page tells times; it names it, too."
    )
    package static let portalHelpLink = Setting(
        "portal.help-link",
        .optional(
            .one(
                "address",
                "an https address of at most 200 bytes",
                read: { text in
                    let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
                    return text.hasPrefix("https://") && (9...200).contains(text.utf8.count) && isPlain ? text : nil
                },
                show: { $0 }
            )
        ),
        standard: .some(nil),
        "Where the page sends people who need help."
    )
}
