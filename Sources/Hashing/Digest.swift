#if !canImport(CryptoKit)
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
#endif
