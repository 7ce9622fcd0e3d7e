import TestSupport

extension RawClient {
    /// The first lines of a form's request.
    static func head(_ method: String = "POST", byteCount: Int) -> String {
        "\(method) /en HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            + "Content-Length: \(byteCount)\r\n\r\n"
    }
}
