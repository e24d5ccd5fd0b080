#if !canImport(CryptoKit)
import CLibCrypto
import Foundation

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
#endif
