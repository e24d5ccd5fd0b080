import Foundation
import Hashing

/// The SHA-256 of bytes, as 64 hexadecimal digits.
package enum ContentDigest {
    package static func of(_ bytes: some DataProtocol) -> String { SHA256.hash(data: bytes).hexadecimal }
}
