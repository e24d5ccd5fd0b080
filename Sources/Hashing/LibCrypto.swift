#if !canImport(CryptoKit)
import CLibCrypto

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum LibCrypto {
    /// An algorithm as libcrypto knows it: made once, never changed and never freed.
    package struct Algorithm: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// A library context of our own: what the machine's `openssl.cnf` or the app does to the default one (a FIPS
    /// provider without SHA-1, say) does not change what a name hashes to.
    nonisolated(unsafe) static let library = required(OSSL_LIB_CTX_new(), "OSSL_LIB_CTX_new")

    static func algorithm(_ name: String) -> Algorithm {
        Algorithm(pointer: required(EVP_MD_fetch(library, name, nil), "EVP_MD_fetch"))
    }

    /// libcrypto answers NULL or 0 where there is no memory left; nothing else can go wrong in what is asked here.
    static func required<Pointer>(_ pointer: Pointer?, _ call: StaticString) -> Pointer {
        guard let pointer else { end(call) }
        return pointer
    }

    static func require(_ success: Int32, _ call: StaticString) {
        if success != 1 { end(call) }
    }

    /// Ends the process. `fatalError` needs memory for its message; without any, the process would end by SIGSEGV instead.
    private static func end(_ call: StaticString) -> Never {
        tell(call)
        tell(" failed: there is no memory for a hash\n")
        abort()
    }

    private static func tell(_ text: StaticString) { _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount) }
}
#endif
