import Foundation

/// The two running checksums of a write-ahead log.
struct LogChecksum {
    var first: UInt32
    var second: UInt32
}

/// Reads numbers from a mapped write-ahead log and computes its checksums.
struct LogReader {
    private let bytes: Data
    private let isBigEndian: Bool

    init(_ data: Data) {
        bytes = data
        isBigEndian = data.count > 3 && data[data.startIndex + 3] & 1 == 1
    }

    /// The length of the log in bytes.
    var count: Int { bytes.count }

    /// A big-endian number.
    func word(_ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }

    /// The checksum of the header; nil if the header is invalid or the stored checksum differs.
    func checkedHeader() -> LogChecksum? {
        guard word(0) & ~1 == 0x377f_0682, word(4) == 3_007_000 else { return nil }
        var sum = LogChecksum(first: 0, second: 0)
        add(0, 24, &sum)
        return sum.first == word(24) && sum.second == word(28) ? sum : nil
    }

    /// Whether a frame was written since the log last started over.
    func hasSalts(of frame: Int) -> Bool { word(frame + 8) == word(16) && word(frame + 12) == word(20) }

    /// Adds bytes, a multiple of 8, to the checksum.
    func add(_ offset: Int, _ count: Int, _ sum: inout LogChecksum) {
        bytes.withUnsafeBytes { bytes in
            var (first, second) = (sum.first, sum.second)
            var position = offset
            while position < offset + count {
                let left = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let right = bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                first = first &+ (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
                second = second &+ (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
                position += 8
            }
            sum = LogChecksum(first: first, second: second)
        }
    }
}
