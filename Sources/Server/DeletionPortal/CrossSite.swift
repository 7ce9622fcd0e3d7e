/// What browsers say of the page that a form was sent from.
///
/// No page can make a browser say otherwise. Sec-Fetch-Site is the word of every browser since 2023 over HTTPS; Origin is
/// compared where it names a page at all: our own Referrer-Policy makes it `null`. A browser that says neither is left to
/// the ``FormSeal``.
enum CrossSite {
    /// Whether a request is one of another site's.
    ///
    /// - Parameters:
    ///   - host: whom the request was sent to, as a proxy passes it on.
    static func isForged(fetchSite: String?, origin: String?, host: String?) -> Bool {
        // `none`: the person did it, by loading the page again.
        if let fetchSite, fetchSite != "same-origin", fetchSite != "none" { return true }
        guard let origin, origin != "null" else { return false }
        guard let host, let scheme = origin.firstRange(of: "://") else { return true }
        return origin[scheme.upperBound...].lowercased() != host.lowercased()
    }
}
