/// Detects requests from other sites by headers that a browser sets and a page cannot change.
///
/// Every browser since 2023 sends Sec-Fetch-Site over HTTPS. Origin is compared if it names a site; the portal's
/// Referrer-Policy makes it `null`. If a browser sends neither header, the ``FormSeal`` protects the form.
enum CrossSite {
    /// Returns whether another site sent the request.
    ///
    /// - Parameters:
    ///   - host: The host of the request, as forwarded by a proxy.
    static func isForged(fetchSite: String?, origin: String?, host: String?) -> Bool {
        // `none` means that the user caused the request, for example by reloading the page.
        if let fetchSite, fetchSite != "same-origin", fetchSite != "none" { return true }
        guard let origin, origin != "null" else { return false }
        guard let host, let scheme = origin.firstRange(of: "://") else { return true }
        return origin[scheme.upperBound...].lowercased() != host.lowercased()
    }
}
