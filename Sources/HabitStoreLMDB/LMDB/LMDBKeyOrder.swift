#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// LMDB's order of keys: byte by byte, and a prefix before what it begins.
enum LMDBKeyOrder {
    static func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { isBefore(left, $0) } }
    }

    @inline(__always)
    static func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let shared = min(left.count, right.count)
        if shared > 0, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress {
            let order = memcmp(leftBytes, rightBytes, shared)
            if order != 0 { return order < 0 }
        }
        return left.count < right.count
    }
}
