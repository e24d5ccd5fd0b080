#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The order of keys: by bytes, with a prefix first.
package enum KeyOrder {
    package static func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { isBefore(left, $0) } }
    }

    @inlinable
    @inline(__always)
    package static func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let shared = min(left.count, right.count)
        if shared > 0, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress {
            let order = memcmp(leftBytes, rightBytes, shared)
            if order != 0 { return order < 0 }
        }
        return left.count < right.count
    }

    @inlinable
    @inline(__always)
    package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress else {
            return left.count == right.count
        }
        return memcmp(leftBytes, rightBytes, left.count) == 0
    }

    /// The least key that is greater than every key with this prefix; nil if there is none.
    package static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var successor = prefix
        while let last = successor.last {
            if last < UInt8.max {
                successor[successor.count - 1] = last + 1
                return successor
            }
            successor.removeLast()
        }
        return nil
    }
}
