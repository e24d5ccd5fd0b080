/// Rewrites a write-ahead log with valid checksums.
struct FixtureLog {
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

    private func word(_ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private func set(_ value: UInt32, _ offset: Int) {
        bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
    }

    private func sum(_ offset: Int, _ count: Int, _ sums: (UInt32, UInt32)) -> (UInt32, UInt32) {
        var (first, second) = sums
        let isBig = word(0) & 1 == 1
        for place in stride(from: offset, to: offset + count, by: 8) {
            let left = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
            let right = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
            first = first &+ (isBig ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
            second = second &+ (isBig ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
        }
        return (first, second)
    }

    /// Removes the end-of-transaction mark from every frame.
    func unfinishAll() {
        let page = Int(word(8))
        var sums = (word(24), word(28))
        var frame = 32
        while frame + 24 + page <= bytes.count {
            set(0, frame + 4)
            sums = sum(frame + 24, page, sum(frame, 8, sums))
            set(sums.0, frame + 16)
            set(sums.1, frame + 20)
            frame += 24 + page
        }
    }
}
