/// UC9.2 Get app information: which product, which version, which server.
struct AppInformation: Flow {
    mutating func start(_ snapshot: Snapshot) -> Transition {
        .show(
            Scene("UC9.2/1.1", .screen, .appInformation)
                .with(.product, .version(snapshot.appVersion), .server(snapshot.server))
                .offering((.back, "UC9.2/1.1a"))
        )
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .back: .finish(.returned)
        case _: .stay
        }
    }
}
