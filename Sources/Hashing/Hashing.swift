// Hashes with the interface of Apple's CryptoKit: CryptoKit itself if available, the system's libcrypto elsewhere. The rest of the
// package does not know which of the two it uses. `HashFunction`, `Digest`, `HMAC` and `SymmetricKey` below have the part of
// CryptoKit's interface that is used.
#if canImport(CryptoKit)

@_exported import CryptoKit

#else

/// SHA-256 (FIPS 180-4): digests of 32 bytes.
package typealias SHA256 = HashFunction<SHA256Algorithm>

/// Hashes for identifiers that a standard builds on them, not for secrets.
package enum Insecure {
    /// SHA-1 (FIPS 180-4): digests of 20 bytes.
    package typealias SHA1 = HashFunction<SHA1Algorithm>
}

package enum SHA256Algorithm: HashAlgorithm {
    package static let implementation = LibCrypto.algorithm("SHA256")
}

package enum SHA1Algorithm: HashAlgorithm {
    package static let implementation = LibCrypto.algorithm("SHA1")
}

#endif
