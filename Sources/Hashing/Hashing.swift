// Hashes with the interface of Apple's CryptoKit: CryptoKit itself if available, the system's libcrypto elsewhere. The rest of the
// package does not know which of the two it uses. `HashFunction`, `Digest`, `HMAC` and `SymmetricKey` below have the part of
// CryptoKit's interface that is used.
#if canImport(CryptoKit)

@_exported import CryptoKit

#else

import CLibCrypto
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

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

package protocol HashAlgorithm {
    static var implementation: LibCrypto.Algorithm { get }
}

/// A hash that is computed incrementally.
package struct HashFunction<Algorithm: HashAlgorithm>: ~Copyable {
    package typealias Digest = Hashing.Digest

    private let context: OpaquePointer

    package init() {
        context = LibCrypto.required(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
        LibCrypto.require(EVP_DigestInit_ex2(context, Algorithm.implementation.pointer, nil), "EVP_DigestInit_ex2")
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        LibCrypto.require(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count), "EVP_DigestUpdate")
    }

    package mutating func update(data: some DataProtocol) {
        for region in data.regions {
            region.withUnsafeBytes { bytes in
                LibCrypto.require(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count), "EVP_DigestUpdate")
            }
        }
    }

    /// The digest of the input. Call it only once, because libcrypto accepts no more input afterwards.
    package func finalize() -> Digest {
        Digest { bytes in
            var count: UInt32 = 0
            LibCrypto.require(EVP_DigestFinal_ex(context, bytes, &count), "EVP_DigestFinal_ex")
            return Int(count)
        }
    }

    package static func hash(data: some DataProtocol) -> Digest {
        var hash = Self()
        hash.update(data: data)
        return hash.finalize()
    }
}

/// The bytes of a digest, at most 32.
package struct Digest: Hashable, Sendable, Sequence {
    private var storage = SIMD32<UInt8>()
    private var count = 0

    /// - Parameter fill: writes the digest, and returns its length in bytes.
    init(_ fill: (UnsafeMutablePointer<UInt8>) -> Int) {
        count = withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { bytes in bytes.baseAddress.map(fill) ?? 0 }
        }
    }

    package func makeIterator() -> some IteratorProtocol<UInt8> {
        (0..<count).lazy.map { [storage] place in storage[place] }.makeIterator()
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: storage) { bytes in
            try body(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
        }
    }
}

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

package enum LibCrypto {
    /// An algorithm of libcrypto, fetched once, never changed and never freed.
    package struct Algorithm: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// A separate library context: changes that the machine's `openssl.cnf` or the app makes to the default one (such as a FIPS
    /// provider without SHA-1) do not affect the algorithms. libcrypto lets all threads use it.
    nonisolated(unsafe) static let library = required(OSSL_LIB_CTX_new(), "OSSL_LIB_CTX_new")

    static func algorithm(_ name: String) -> Algorithm {
        Algorithm(pointer: required(EVP_MD_fetch(library, name, nil), "EVP_MD_fetch"))
    }

    /// libcrypto returns NULL or 0 if there is no memory left; the calls here cannot fail for any other reason.
    static func required<Pointer>(_ pointer: Pointer?, _ call: StaticString) -> Pointer {
        guard let pointer else { end(call) }
        return pointer
    }

    static func require(_ success: Int32, _ call: StaticString) {
        if success != 1 { end(call) }
    }

    /// Ends the process. `fatalError` needs memory for its message; without any, it would end the process by SIGSEGV instead.
    private static func end(_ call: StaticString) -> Never {
        tell(call)
        tell(" failed: there is no memory for a hash\n")
        abort()
    }

    private static func tell(_ text: StaticString) { _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount) }
}

#endif

extension Sequence<UInt8> {
    /// The bytes as lowercase hexadecimal digits in ASCII, two for each byte.
    package var hexadecimalDigits: [UInt8] {
        var digits: [UInt8] = []
        // Most are SHA-256 digests, which do not report their length.
        digits.reserveCapacity(Swift.max(64, 2 * underestimatedCount))
        for byte in self {
            for digit in [byte >> 4, byte & 15] { digits.append(digit + (digit < 10 ? 48 : 87)) }
        }
        return digits
    }

    /// The digits as a text.
    package var hexadecimal: String { String(decoding: hexadecimalDigits, as: UTF8.self) }
}
