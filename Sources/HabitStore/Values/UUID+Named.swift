import Foundation
import Hashing

extension UUID {
    /// The identifier that a name has within a namespace: version 5 of RFC 9562, the first 16 bytes of the SHA-1 of the
    /// namespace's bytes and the name's UTF-8. The same name always has the same identifier, on every machine.
    ///
    /// - Parameter name: hashed as its UTF-8 stands; normalize it first where other Unicode forms mean the same.
    public static func named(_ name: String, in namespace: UUID) -> UUID {
        var hash = Insecure.SHA1()
        withUnsafeBytes(of: namespace.uuid) { hash.update(bufferPointer: $0) }
        hash.update(data: Data(name.utf8))
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { bytes in
            for (place, byte) in zip(bytes.indices, hash.finalize()) { bytes[place] = byte }
            bytes[6] = bytes[6] & 0x0F | 0x50
            bytes[8] = bytes[8] & 0x3F | 0x80
        }
        return UUID(uuid: bytes)
    }
}
