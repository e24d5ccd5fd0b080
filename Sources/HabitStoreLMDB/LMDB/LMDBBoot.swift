#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Identifies a boot of the system.
struct LMDBBoot: Equatable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Nil if the system does not provide it.
    static let current: LMDBBoot? = text().flatMap { LMDBBoot($0) }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses the 32 hexadecimal digits of a UUID, ignoring anything between them.
    init?(_ text: [UInt8]) {
        let digits = text.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 32 else { return nil }
        let halves = [digits.prefix(16), digits.suffix(16)].map { $0.reduce(UInt64(0)) { $0 << 4 | UInt64($1) } }
        self.init(high: halves[0], low: halves[1])
    }

    #if canImport(Darwin)
    private static func text() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        var length = bytes.count
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &length, nil, 0) == 0 else { return nil }
        return Array(bytes.prefix(length))
    }
    #else
    private static func text() -> [UInt8]? {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
    #endif
}
