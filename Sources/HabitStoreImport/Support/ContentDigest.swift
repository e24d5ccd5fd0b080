import Foundation
import Hashing

/// The SHA-256 of bytes, as 64 hexadecimal digits.
package enum ContentDigest {
    package static func of(_ bytes: some DataProtocol) -> String { text(SHA256.hash(data: bytes)) }

    package static func text(_ digest: SHA256.Digest) -> String {
        digest.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
