import Hashing

/// Names the bytes of a flag file. It guards no secret.
package enum FileDigest {
    /// The SHA-256 digest in hexadecimal digits, as `sha256sum` prints it.
    package static func hexadecimal(of bytes: [UInt8]) -> String {
        hexadecimal(SHA256.hash(data: bytes))
    }

    /// Bytes in hexadecimal digits.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
