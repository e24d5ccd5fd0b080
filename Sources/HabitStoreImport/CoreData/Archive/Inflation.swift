internal import CZlib
import Foundation

/// Decompresses DEFLATE with a limit on the output: a few bytes of input can expand to gigabytes.
package enum Inflation {
    /// The format around the compressed data.
    package enum Wrapping: Int32, CaseIterable {
        /// Nothing: raw DEFLATE, as Core Data writes its model.
        case none = -15
        /// zlib's header and checksum.
        case zlib = 15
    }

    /// The decompressed bytes; nil if the input has another format, is truncated, or expands to more than `limit`.
    package static func inflate(_ input: Data, _ wrapping: Wrapping, limit: Int) -> Data? {
        var stream = z_stream()
        guard czlib_inflate_init(&stream, wrapping.rawValue) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var output = Data()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var source = [UInt8](input)
        return source.withUnsafeMutableBufferPointer { bytes -> Data? in
            stream.next_in = bytes.baseAddress
            stream.avail_in = UInt32(clamping: bytes.count)
            while true {
                let (status, made) = chunk.withUnsafeMutableBufferPointer { room -> (Int32, Int) in
                    stream.next_out = room.baseAddress
                    stream.avail_out = UInt32(room.count)
                    let status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    return (status, room.count - Int(stream.avail_out))
                }
                output.append(contentsOf: chunk[..<made])
                guard output.count <= limit else { return nil }
                if status == Z_STREAM_END { return output }
                guard status == Z_OK, made > 0 || stream.avail_in > 0 else { return nil }
            }
        }
    }
}
