import Hashing

/// Names the bytes of a flag file. It guards no secret.
package enum FileDigest {
    /// The SHA-256 digest in hexadecimal digits, as `sha256sum` prints it.
    package static func hexadecimal(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).hexadecimal
    }
}
