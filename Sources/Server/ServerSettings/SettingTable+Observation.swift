// Metrics and probes, for whoever watches the server.
extension SettingTable {
    static let observation: [any SettingDeclaration] = [Self.observationListen]

    package static let observationListen = Setting(
        "observation.listen",
        .optional(
            .one(
                "address",
                "HOST:PORT, as 127.0.0.1:9464 or [::1]:9464",
                read: { ListenAddress($0) },
                show: { "\($0)" }
            )
        ),
        standard: .some(ListenAddress(host: "127.0.0.1", port: 9464)),
        "Address and port of the plain HTTP for `/metrics`, `/livez` and `/readyz`. Keep it private: it tells nobody's secrets, "
            + "but how busy the server is. Port 0 takes a free one; with none there is no such listener."
    )
}
