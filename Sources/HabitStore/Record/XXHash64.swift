/// The XXH64 hash of Yann Collet's xxHash specification (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
///
/// It names the shapes of entities and the folders of users with long ids.
@_spi(Engines) public enum XXHash64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The hash of `bytes` with a seed.
    public static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        guard let base = bytes.baseAddress else { return finish(seed &+ prime5) }
        return hash(base, count: bytes.count, seed: seed)
    }

    /// The hash of a text's UTF-8, as 16 hexadecimal digits.
    package static func digits(of text: String) -> String {
        let digits = String(Array(text.utf8).withUnsafeBytes { hash($0) }, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The hash of the `count` bytes at `bytes`.
    static func hash(_ bytes: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
        var offset = 0
        var result: UInt64
        if count >= 32 {
            var lane1 = seed &+ prime1 &+ prime2
            var lane2 = seed &+ prime2
            var lane3 = seed
            var lane4 = seed &- prime1
            while offset &+ 32 <= count {
                lane1 = round(lane1, word(bytes, offset))
                lane2 = round(lane2, word(bytes, offset &+ 8))
                lane3 = round(lane3, word(bytes, offset &+ 16))
                lane4 = round(lane4, word(bytes, offset &+ 24))
                offset &+= 32
            }
            result = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
            result = (result ^ round(0, lane1)) &* prime1 &+ prime4
            result = (result ^ round(0, lane2)) &* prime1 &+ prime4
            result = (result ^ round(0, lane3)) &* prime1 &+ prime4
            result = (result ^ round(0, lane4)) &* prime1 &+ prime4
        } else {
            result = seed &+ prime5
        }
        result &+= UInt64(count)
        while offset &+ 8 <= count {
            result = rotate(result ^ round(0, word(bytes, offset)), 27) &* prime1 &+ prime4
            offset &+= 8
        }
        if offset &+ 4 <= count {
            let half = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            result = rotate(result ^ (half &* prime1), 23) &* prime2 &+ prime3
            offset &+= 4
        }
        while offset < count {
            let byte = bytes.load(fromByteOffset: offset, as: UInt8.self)
            result = rotate(result ^ (UInt64(byte) &* prime5), 11) &* prime1
            offset &+= 1
        }
        return finish(result)
    }

    @inline(__always)
    private static func finish(_ value: UInt64) -> UInt64 {
        var result = (value ^ (value >> 33)) &* prime2
        result = (result ^ (result >> 29)) &* prime3
        return result ^ (result >> 32)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        (value &<< count) | (value &>> (64 &- count))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
        rotate(lane &+ input &* prime2, 31) &* prime1
    }
}
