#if !canImport(CryptoKit)
import CLibCrypto
import Foundation

/// The key of a keyed hash.
package struct SymmetricKey: Sendable {
    package enum Size { case bits256 }

    let bytes: [UInt8]

    package init(data: some DataProtocol) { bytes = Array(data) }

    /// A key from the system's random number generator.
    package init(size: Size) {
        var generator = SystemRandomNumberGenerator()
        bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// The keyed hash of RFC 2104, only used with SHA-256.
package enum HMAC<Hash: ~Copyable> {}

extension HMAC where Hash == SHA256 {
    package static func authenticationCode(for data: some DataProtocol, using key: SymmetricKey) -> Digest {
        let data = Array(data)
        return Digest { bytes in
            var count = 0
            let code = EVP_Q_mac(
                LibCrypto.library,
                "HMAC",
                nil,
                "SHA256",
                nil,
                key.bytes,
                key.bytes.count,
                data,
                data.count,
                bytes,
                32,
                &count
            )
            _ = LibCrypto.required(code, "EVP_Q_mac")
            return count
        }
    }

    /// Compares in constant time, which does not reveal where the codes differ.
    package static func isValidAuthenticationCode(
        _ code: [UInt8],
        authenticating data: some DataProtocol,
        using key: SymmetricKey
    ) -> Bool {
        let expected = Array(authenticationCode(for: data, using: key))
        return code.count == expected.count && CRYPTO_memcmp(code, expected, expected.count) == 0
    }
}
#endif
