internal import Glibc

/// Another program in this process's place.
package enum OtherProgram {
    /// Where a program of this name lies beside the one that runs.
    package static func path(besideThisOne name: String) throws(FileError) -> String {
        let link = "/proc/self/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemCall.retrying(link) { unsafe readlink(link, &buffer, buffer.count) }
        let own = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { throw .notFound(own) }
        return "\(own[..<slash])/\(name)"
    }

    /// Goes on as the program at `path`, with the same process id, environment and standard streams.
    ///
    /// - Returns: only where the program could not be started, why.
    package static func become(_ path: String, arguments: [String]) -> FileError {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, &pointers)
        let code = errno
        while let pointer = unsafe pointers.popLast() { unsafe free(pointer) }
        return SystemCall.error(code, path)
    }
}
