/// UC9.2 Get app information: shows the product, its version, and its server.
struct AppInformation: Flow {
    func enter(_ snapshot: Snapshot) -> Transition {
        .show(
            Dialog("UC9.2/1.1", .screen, .appInformation)
                .with(.product, .version(snapshot.appVersion), .server(snapshot.server))
                .offering(.back, "UC9.2/1.1a", .finish(.returned))
        )
    }
}
