// Hashes as Apple's CryptoKit names them: CryptoKit's own where there is one, the system's libcrypto elsewhere. Nothing
// else in the package knows which of the two it is. `HashFunction`, `Digest`, `HMAC` and `SymmetricKey` below have as
// much of CryptoKit's interface as is used.
#if canImport(CryptoKit)

@_exported import CryptoKit

#else

/// SHA-256 (FIPS 180-4): digests of 32 bytes.
package typealias SHA256 = HashFunction<SHA256Algorithm>

/// What is fit for identifiers that a standard builds on it, and for no secret.
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
