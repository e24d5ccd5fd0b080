/// MurmurHash3_x86_32 by Austin Appleby (public domain), fed byte by byte so that two texts can be hashed as one
/// without being joined.
struct MurmurHash3: Sendable {
    private var state: UInt32
    private var block: UInt32 = 0
    private var blockBytes: UInt32 = 0
    private var length: UInt32 = 0

    init(seed: UInt32 = 0) { state = seed }

    mutating func combine(_ text: String) {
        var text = text
        text.withUTF8 { combine($0) }
    }

    mutating func combine(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { combine($0) } }

    private mutating func combine(_ bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes {
            block |= UInt32(byte) << (8 * blockBytes)
            blockBytes += 1
            length &+= 1
            guard blockBytes == 4 else { continue }
            state ^= Self.mixed(block)
            state = Self.rotated(state, by: 13) &* 5 &+ 0xe654_6b64
            block = 0
            blockBytes = 0
        }
    }

    func finalized() -> UInt32 {
        var hash = state
        if blockBytes > 0 { hash ^= Self.mixed(block) }
        hash ^= length
        hash ^= hash >> 16
        hash &*= 0x85eb_ca6b
        hash ^= hash >> 13
        hash &*= 0xc2b2_ae35
        hash ^= hash >> 16
        return hash
    }

    private static func mixed(_ block: UInt32) -> UInt32 {
        rotated(block &* 0xcc9e_2d51, by: 15) &* 0x1b87_3593
    }

    private static func rotated(_ value: UInt32, by bits: UInt32) -> UInt32 {
        (value << bits) | (value >> (32 - bits))
    }
}
