/// UC9.2 Get app information: which product, which version, which server.
struct AppInformation: Flow {
    mutating func start(_ facts: Facts) -> Turn {
        .show(
            Scene("UC9.2/1.1", .screen, .appInformation)
                .with(.product, .version(facts.appVersion), .server(facts.server))
                .offering((.back, "UC9.2/1.1a"))
        )
    }

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch action {
        case .back: .finish(.returned)
        case _: .stay
        }
    }
}
