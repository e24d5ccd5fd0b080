/// Untrusted bytes of a file: reading outside them gives zero and never traps.
struct LMDBBytes {
    let buffer: UnsafeRawBufferPointer

    var count: Int { buffer.count }

    @inline(__always)
    func load<Integer: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Integer.Type) -> Integer {
        guard offset >= 0, offset <= buffer.count - MemoryLayout<Integer>.size else { return 0 }
        return Integer(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: type))
    }

    @inline(__always)
    func u16(_ offset: Int) -> UInt16 { load(offset, as: UInt16.self) }

    @inline(__always)
    func u32(_ offset: Int) -> UInt32 { load(offset, as: UInt32.self) }

    @inline(__always)
    func u64(_ offset: Int) -> UInt64 { load(offset, as: UInt64.self) }

    /// The bytes of a range; empty if it is not inside.
    @inline(__always)
    func slice(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
        guard offset >= 0, length >= 0, offset <= buffer.count, length <= buffer.count - offset else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + length])
    }
}
