/// Detection of requests from other sites, by headers that a browser sets and a page cannot change.
///
/// Every browser since 2023 sends Sec-Fetch-Site over HTTPS. Origin is compared if it names a site; the portal's own
/// Referrer-Policy makes it `null`. If a browser sends neither, the ``FormSeal`` protects the form.
enum CrossSite {
    /// Returns whether another site sent the request.
    ///
    /// - Parameters:
    ///   - host: The host of the request, as a proxy forwards it.
    static func isForged(fetchSite: String?, origin: String?, host: String?) -> Bool {
        // `none`: the user caused the request, for example by a reload.
        if let fetchSite, fetchSite != "same-origin", fetchSite != "none" { return true }
        guard let origin, origin != "null" else { return false }
        guard let host, let scheme = origin.firstRange(of: "://") else { return true }
        return origin[scheme.upperBound...].lowercased() != host.lowercased()
    }
}
