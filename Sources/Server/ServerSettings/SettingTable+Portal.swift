package import ConfigText
internal import Foundation

// Settings for the deletion portal: the server's socket for it, and the portal program itself.
extension SettingTable {
    static let portal: [any SettingDeclaration] = [
        Self.portalSocket, Self.portalGroup, Self.portalListen, Self.portalTrustedProxies, Self.portalProduct,
        Self.portalTimeZone, Self.portalHelpLink, Self.portalObservation,
    ]

    package static let portalSocket = Setting(
        optional: "portal.socket",
        .path,
        "Unix-domain socket through which the deletion portal calls the server, at most 100 bytes long. It accepts "
            + "only deletion codes. With none the server does not create it."
    )
    package static let portalGroup = Setting(
        optional: "portal.group",
        .group,
        "Group that may open the portal's socket (mode 0660), so that the portal can run as a separate user. With none "
            + "only the server's user may (0600)."
    )
    package static let portalListen = Setting(
        "portal.listen",
        .address("127.0.0.1:7480"),
        standard: HostAndPort(host: "127.0.0.1", port: 7480),
        "Address and port of the portal's plain HTTP listener, for a reverse proxy that adds TLS. Port 0 chooses a "
            + "free port."
    )
    package static let portalObservation = Setting(
        optional: "portal.observation",
        .address("127.0.0.1:9465"),
        "Address and port of the portal's plain HTTP listener for `/metrics`, `/livez` and `/readyz`. Keep it private."
    )
    package static let portalTrustedProxies = Setting(
        "portal.trusted-proxies",
        .list(of: .network),
        standard: [AddressRange.loopback4, AddressRange.loopback6],
        "Reverse proxies whose X-Forwarded-For header is trusted. The client's address is the last one in the header "
            + "that is not in this list; if the connection is from another address, it is that address."
    )
    package static let portalProduct = Setting(
        "portal.product",
        .text("text", "1 to 60 characters") { text in
            (1...60).contains(text.count)
                && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        },
        standard: "NL Wallet",
        "Name of the app on the page."
    )
    package static let portalTimeZone = Setting(
        "portal.time-zone",
        .text("time zone", "a name of the time zone database, such as Europe/Amsterdam or UTC") {
            TimeZone(identifier: $0) != nil
        },
        standard: "Europe/Amsterdam",
        "Time zone of the times on the page, which names it."
    )
    package static let portalHelpLink = Setting(
        optional: "portal.help-link",
        .text("address", "an https address of at most 200 bytes") { text in
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            return text.hasPrefix("https://") && (9...200).contains(text.utf8.count) && isPlain
        },
        "Link on the page for users who need help."
    )
}
