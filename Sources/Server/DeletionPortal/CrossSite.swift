/// Detects requests from other sites by headers that a browser sets and that pages cannot change.
///
/// Every browser since 2023 sends Sec-Fetch-Site over HTTPS. Origin is compared only if it names a site, since the
/// portal's Referrer-Policy makes it `null`. If a browser sends neither header, the form is protected by its
/// ``FormSeal``.
enum CrossSite {
    /// Returns whether the request was sent by another site.
    ///
    /// - Parameters:
    ///   - host: The host of the request, as forwarded by a proxy.
    static func isForged(fetchSite: String?, origin: String?, host: String?) -> Bool {
        // `none` means that the user initiated the request, for example by reloading the page.
        if let fetchSite, fetchSite != "same-origin", fetchSite != "none" { return true }
        guard let origin, origin != "null" else { return false }
        guard let host, let scheme = origin.firstRange(of: "://") else { return true }
        return origin[scheme.upperBound...].lowercased() != host.lowercased()
    }
}
