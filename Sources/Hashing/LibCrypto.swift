#if !canImport(CryptoKit)
import CLibCrypto

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum LibCrypto {
    /// An algorithm of libcrypto, fetched once, never changed and never freed.
    package struct Algorithm: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// A separate library context: changes that the machine's `openssl.cnf` or the app makes to the default one (such as a FIPS
    /// provider without SHA-1) do not affect the algorithms.
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
