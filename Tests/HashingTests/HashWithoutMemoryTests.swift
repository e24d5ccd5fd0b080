#if canImport(Glibc)
import Foundation
import Glibc
import Hashing
import Testing

/// A process had no memory left for a hash. Formatting the message about it needed memory too, so the process crashed with SIGSEGV without output.
/// Now it reports what was missing, and aborts.
struct HashWithoutMemoryTests {
    private static func takeAllMemory() {
        var nothing = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &nothing)
        // malloc keeps freed blocks by size, so every size is used up.
        var size = 1 << 20
        while size > 0 { if malloc(size) == nil { size -= size > 2_048 ? size / 2 : 1 } }
    }

    @Test func aProcessWithoutMemoryForAHashSaysSo() async throws {
        let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            // Swift itself needs memory for the first hash, and none for the next one.
            let data = Data("abc".utf8)
            for isFirst in [true, false] {
                if !isFirst { Self.takeAllMemory() }
                withExtendedLifetime(SHA256.hash(data: data)) {}
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("EVP_MD_CTX_new failed: there is no memory for a hash"), "\(said)")
    }
}
#endif
