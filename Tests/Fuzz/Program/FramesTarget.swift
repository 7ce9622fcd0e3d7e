internal import NIOCore
@testable import Transport
internal import Vocabulary

/// The bytes of a connection before and around messages: frames, and a load balancer's header.
final class FramesTarget: FuzzTarget {
    let optionByteCount = 1

    func run(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let bytes = Array(input.dropFirst())
        let pieces = stride(from: 0, to: bytes.count, by: Int(first % 32) + 1).map { start in
            bytes[start..<min(bytes.count, start + Int(first % 32) + 1)]
        }
        require(
            Self.frames(in: [bytes[...]]) == Self.frames(in: pieces),
            "frames depend on the pieces they arrive in"
        )
        self.readHeader(bytes)
    }

    private struct Frames: Equatable {
        var frames: [[UInt8]] = []
        var violation: FrameViolation?
    }

    private static func frames(in pieces: [ArraySlice<UInt8>]) -> Frames {
        var (decoder, found) = (FrameDecoder(), Frames())
        for piece in pieces where found.violation == nil {
            decoder.receive(ByteBuffer(bytes: piece))
            do throws(FrameViolation) {
                while let frame = try decoder.next() {
                    require((1...Frame.longestByteCount).contains(frame.count), "a frame is too long")
                    found.frames.append(frame)
                }
            } catch {
                found.violation = error
            }
        }
        return found
    }

    /// A load balancer's header is complete after its last byte, and later bytes never change a result.
    private func readHeader(_ bytes: [UInt8]) {
        do throws(ProxyHeaderFault) {
            guard let header = try ProxyHeader(of: bytes) else { return }
            let longest = min(bytes.count, ProxyHeader.longestByteCount)
            require(header.byteCount <= longest, "the length exceeds the input")
            let alone = try ProxyHeader(of: bytes.prefix(header.byteCount))
            let shorter = try ProxyHeader(of: bytes.prefix(header.byteCount - 1))
            require(alone == header, "later bytes change the result")
            require(shorter == nil, "a part of the header is accepted")
        } catch {
            do throws(ProxyHeaderFault) {
                _ = try ProxyHeader(of: bytes + [0])
                fatalError("later bytes make a rejected header valid")
            } catch let later {
                require(later == error, "later bytes change the error")
            }
        }
    }

    var words: [String] { ["PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n"] }

    var seeds: [[UInt8]] {
        let headers = [
            "2111000cc0000207c63364011f9001bb", "21210024" + String(repeating: "20", count: 32) + "1f9001bb",
            "20000000",
            "21000003ea0000", "2111ffff",
        ].compactMap { [UInt8](hex: $0) }
        let frames: [[UInt8]] = [[0, 0, 0, 1, 9, 0, 0, 0, 2, 8, 7], [0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 1, 0, 1]]
        return (headers.map { ProxyHeader.signature + $0 } + frames).map { [3] + $0 }
    }
}
