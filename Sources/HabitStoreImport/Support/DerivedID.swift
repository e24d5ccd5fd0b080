import Foundation
import Hashing

/// Identifiers for records without a UUID: the same name always gives the same identifier.
///
/// They are UUIDs of version 8 (RFC 9562, section 5.8): the first 128 bits of SHA-256 over the parts of the name, each preceded by its
/// length in bytes as a big-endian 64-bit number, with the version in bits 48 to 51 and the variant in bits 64 and 65.
public enum DerivedID {
    /// The identifier for a name.
    ///
    /// - Parameter parts: the name from general to specific: the kind of source, the source, and its record.
    public static func make(_ parts: [String]) -> UUID {
        var hash = SHA256()
        for part in parts {
            let bytes = Array(part.utf8)
            withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
