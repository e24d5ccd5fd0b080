/// The 64-bit XXH3 hash, without a seed, of Yann Collet's xxHash specification
/// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
///
/// It is the checksum of every encoded record. For a record of about 80 bytes it takes a fraction of XXH64's time, since its steps do not depend on
/// each other, so every read can check it.
@_spi(Engines) public enum XXHash3 {
    static let prime32x1: UInt64 = 0x9E37_79B1
    static let prime32x2: UInt64 = 0x85EB_CA77
    static let prime32x3: UInt64 = 0xC2B2_AE3D
    static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The hash of `bytes`.
    public static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        guard let base = bytes.baseAddress else { return short(UnsafeRawPointer(secret), 0) }
        return hash(base, count: bytes.count)
    }

    /// The hash of the `count` bytes at `bytes`.
    static func hash(_ bytes: UnsafeRawPointer, count: Int) -> UInt64 {
        if count > 16, count <= 128 { return medium(bytes, count) }
        if count <= 16 { return short(bytes, count) }
        return count <= 240 ? large(bytes, count) : stripes(bytes, count)
    }

    // MARK: Up to 16 bytes

    private static func short(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count > 8 {
            let low = word(bytes, 0) ^ (key(24) ^ key(32))
            let high = word(bytes, count - 8) ^ (key(40) ^ key(48))
            return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ folded(low, high))
        }
        if count >= 4 {
            let joined = UInt64(half(bytes, count - 4)) &+ UInt64(half(bytes, 0)) &<< 32
            return strongAvalanche(joined ^ (key(8) ^ key(16)), count)
        }
        guard count > 0 else { return avalanche64(key(56) ^ key(64)) }
        let (first, middle, last) = (byte(bytes, 0), byte(bytes, count / 2), byte(bytes, count - 1))
        let joined = first &<< 16 | middle &<< 24 | last | UInt64(count) &<< 8
        return avalanche64(joined ^ (UInt64(half(key, 0)) ^ UInt64(half(key, 4))))
    }

    // MARK: 17 to 240 bytes

    @inline(__always)
    private static func medium(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        // Asked for once: a static property is checked for being made whenever it is.
        let key = key
        var sum = UInt64(count) &* prime1
        if count > 32 {
            if count > 64 {
                if count > 96 {
                    sum &+= mixed(bytes, key, 48, 96)
                    sum &+= mixed(bytes, key, count &- 64, 112)
                }
                sum &+= mixed(bytes, key, 32, 64)
                sum &+= mixed(bytes, key, count &- 48, 80)
            }
            sum &+= mixed(bytes, key, 16, 32)
            sum &+= mixed(bytes, key, count &- 32, 48)
        }
        sum &+= mixed(bytes, key, 0, 0)
        sum &+= mixed(bytes, key, count &- 16, 16)
        return avalanche(sum)
    }

    private static func large(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        let key = key
        var sum = UInt64(count) &* prime1
        for round in 0..<8 { sum &+= mixed(bytes, key, 16 * round, 16 * round) }
        sum = avalanche(sum)
        for round in 8..<(count / 16) { sum &+= mixed(bytes, key, 16 * round, 16 * (round - 8) + 3) }
        sum &+= mixed(bytes, key, count - 16, 136 - 17)
        return avalanche(sum)
    }

    // MARK: More than 240 bytes

    static let stripe = 64
    private static let stripesInBlock = (secretSize - stripe) / 8

    private static func stripes(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        merged(accumulated(bytes, count), 11, UInt64(count) &* prime1)
    }

    /// The eight lanes over more than 240 bytes.
    static func accumulated(_ bytes: UnsafeRawPointer, _ count: Int) -> SIMD8<UInt64> {
        var lanes: SIMD8<UInt64> = [
            prime32x3, prime1, prime2, prime3, prime4, prime32x2, prime5, prime32x1,
        ]
        let block = stripe * stripesInBlock
        let blocks = (count - 1) / block
        for number in 0..<blocks {
            for place in 0..<stripesInBlock {
                accumulate(&lanes, bytes + number * block + place * stripe, 8 * place)
            }
            for lane in 0..<8 {
                let value = lanes[lane] ^ (lanes[lane] &>> 47) ^ word(key, secretSize - stripe + 8 * lane)
                lanes[lane] = value &* prime32x1
            }
        }
        for place in 0..<((count - 1 - blocks * block) / stripe) {
            accumulate(&lanes, bytes + blocks * block + place * stripe, 8 * place)
        }
        accumulate(&lanes, bytes + count - stripe, secretSize - stripe - 7)
        return lanes
    }

    /// The lanes and a part of the secret as one word.
    static func merged(_ lanes: SIMD8<UInt64>, _ secretOffset: Int, _ start: UInt64) -> UInt64 {
        var sum = start
        for pair in 0..<4 {
            let offset = secretOffset + 16 * pair
            sum &+= folded(lanes[2 * pair] ^ word(key, offset), lanes[2 * pair + 1] ^ word(key, offset + 8))
        }
        return avalanche(sum)
    }

    @inline(__always)
    private static func accumulate(_ lanes: inout SIMD8<UInt64>, _ bytes: UnsafeRawPointer, _ secretOffset: Int) {
        for lane in 0..<8 {
            let value = word(bytes, 8 * lane)
            let keyed = value ^ word(key, secretOffset + 8 * lane)
            lanes[lane ^ 1] &+= value
            lanes[lane] &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
        }
    }

    // MARK: Steps

    @inline(__always)
    static func mixed(
        _ bytes: UnsafeRawPointer,
        _ key: UnsafeRawPointer,
        _ offset: Int,
        _ secretOffset: Int
    ) -> UInt64 {
        folded(
            word(bytes, offset) ^ word(key, secretOffset),
            word(bytes, offset &+ 8) ^ word(key, secretOffset &+ 8)
        )
    }

    @inline(__always)
    static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.low ^ product.high
    }

    @inline(__always)
    static func avalanche(_ value: UInt64) -> UInt64 {
        let mixed = (value ^ (value &>> 37)) &* 0x1656_6791_9E37_79F9
        return mixed ^ (mixed &>> 32)
    }

    static func avalanche64(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value &>> 33)) &* prime2
        mixed = (mixed ^ (mixed &>> 29)) &* prime3
        return mixed ^ (mixed &>> 32)
    }

    private static func strongAvalanche(_ value: UInt64, _ count: Int) -> UInt64 {
        var mixed = value ^ (value &<< 49 | value &>> 15) ^ (value &<< 24 | value &>> 40)
        mixed = mixed &* 0x9FB2_1C65_1E98_DF25
        mixed = (mixed ^ ((mixed &>> 35) &+ UInt64(count))) &* 0x9FB2_1C65_1E98_DF25
        return mixed ^ (mixed &>> 28)
    }

    @inline(__always)
    static func word(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    static func half(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    static func byte(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        UInt64(bytes.load(fromByteOffset: offset, as: UInt8.self))
    }

    // MARK: Secret

    static let secretSize = 192

    /// The specification's default secret as little-endian words, in memory that is never changed or freed.
    private nonisolated(unsafe) static let secret: UnsafeMutablePointer<UInt64> = {
        let words: [UInt64] = [
            0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE,
            0x1F67_B3B7_A4A4_4072, 0x78E5_C0CC_4EE6_79CB, 0x2172_FFCC_7DD0_5A82,
            0x8E24_43F7_7446_08B8, 0x4C26_3A81_E690_35E0, 0xCB00_C391_BB52_283C,
            0xA32E_531B_8B65_D088, 0x4EF9_0DA2_9748_6471, 0xD8AC_DEA9_46EF_1938,
            0x3F34_9CE3_3F76_FAA8, 0x1D4F_0BC7_C7BB_DCF9, 0x3159_B4CD_4BE0_518A,
            0x6473_78D9_C97E_9FC8, 0xC3EB_D334_83AC_C5EA, 0xEB63_13FA_FFA0_81C5,
            0x49DA_F0B7_51DD_0D17, 0x9E68_D429_2655_16D3, 0xFCA1_477D_58BE_162B,
            0xCE31_D07A_D1B8_F88F, 0x2804_1695_8F3A_CB45, 0x7E40_4BBB_CAFB_D7AF,
        ]
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: words.count)
        for (place, word) in words.enumerated() { memory[place] = word.littleEndian }
        return memory
    }()

    @inline(__always)
    static var key: UnsafeRawPointer { UnsafeRawPointer(secret) }

    @inline(__always)
    static func key(_ offset: Int) -> UInt64 { word(key, offset) }
}

@_spi(Engines) extension XXHash3 {
    /// The 128-bit XXH3 hash of `bytes`, without a seed, of the same specification.
    public static func hash128(_ bytes: UnsafeRawBufferPointer) -> (low: UInt64, high: UInt64) {
        guard let base = bytes.baseAddress else { return empty }
        let count = bytes.count
        if count > 16, count <= 128 { return medium128(base, count) }
        if count <= 16 { return short128(base, count) }
        return count <= 240 ? large128(base, count) : stripes128(base, count)
    }

    // MARK: Up to 16 bytes

    private static var empty: (low: UInt64, high: UInt64) {
        (avalanche64(key(64) ^ key(72)), avalanche64(key(80) ^ key(88)))
    }

    private static func short128(_ bytes: UnsafeRawPointer, _ count: Int) -> (low: UInt64, high: UInt64) {
        if count > 8 { return nineToSixteen(bytes, count) }
        if count >= 4 {
            let joined = UInt64(half(bytes, 0)) &+ UInt64(half(bytes, count - 4)) &<< 32
            let product = (joined ^ key(16) ^ key(24)).multipliedFullWidth(by: prime1 &+ UInt64(count) &<< 2)
            let high = product.high &+ product.low &<< 1
            var low = product.low ^ (high &>> 3)
            low = (low ^ (low &>> 35)) &* 0x9FB2_1C65_1E98_DF25
            return (low ^ (low &>> 28), avalanche(high))
        }
        guard count > 0 else { return empty }
        let (first, middle, last) = (byte(bytes, 0), byte(bytes, count / 2), byte(bytes, count - 1))
        let low = UInt32(truncatingIfNeeded: first &<< 16 | middle &<< 24 | last | UInt64(count) &<< 8)
        let swapped = low.byteSwapped
        let high = swapped &<< 13 | swapped &>> 19
        return (
            avalanche64(UInt64(low) ^ UInt64(half(key, 0) ^ half(key, 4))),
            avalanche64(UInt64(high) ^ UInt64(half(key, 8) ^ half(key, 12)))
        )
    }

    private static func nineToSixteen(_ bytes: UnsafeRawPointer, _ count: Int) -> (low: UInt64, high: UInt64) {
        let (front, back) = (word(bytes, 0), word(bytes, count - 8))
        var product = (front ^ back ^ key(32) ^ key(40)).multipliedFullWidth(by: prime1)
        product.low &+= UInt64(count - 1) &<< 54
        let keyed = back ^ key(48) ^ key(56)
        product.high &+= keyed &+ (keyed & 0xFFFF_FFFF) &* (prime32x2 &- 1)
        product.low ^= product.high.byteSwapped
        let result = product.low.multipliedFullWidth(by: prime2)
        return (avalanche(result.low), avalanche(result.high &+ product.high &* prime2))
    }

    // MARK: 17 to 240 bytes

    private static func medium128(_ bytes: UnsafeRawPointer, _ count: Int) -> (low: UInt64, high: UInt64) {
        let key = key
        var (low, high) = (UInt64(count) &* prime1, UInt64(0))
        if count > 32 {
            if count > 64 {
                if count > 96 { mix(&low, &high, bytes, 48, count &- 64, key, 96) }
                mix(&low, &high, bytes, 32, count &- 48, key, 64)
            }
            mix(&low, &high, bytes, 16, count &- 32, key, 32)
        }
        mix(&low, &high, bytes, 0, count &- 16, key, 0)
        return finished(low, high, count)
    }

    private static func large128(_ bytes: UnsafeRawPointer, _ count: Int) -> (low: UInt64, high: UInt64) {
        let key = key
        var (low, high) = (UInt64(count) &* prime1, UInt64(0))
        for round in 0..<4 { mix(&low, &high, bytes, 32 * round, 32 * round + 16, key, 32 * round) }
        (low, high) = (avalanche(low), avalanche(high))
        for round in 4..<(count / 32) {
            mix(&low, &high, bytes, 32 * round, 32 * round + 16, key, 3 + 32 * (round - 4))
        }
        mix(&low, &high, bytes, count - 16, count - 32, key, 136 - 17 - 16)
        return finished(low, high, count)
    }

    @inline(__always)
    private static func mix(
        _ low: inout UInt64,
        _ high: inout UInt64,
        _ bytes: UnsafeRawPointer,
        _ first: Int,
        _ second: Int,
        _ key: UnsafeRawPointer,
        _ secretOffset: Int
    ) {
        low &+= mixed(bytes, key, first, secretOffset)
        low ^= word(bytes, second) &+ word(bytes, second &+ 8)
        high &+= mixed(bytes, key, second, secretOffset &+ 16)
        high ^= word(bytes, first) &+ word(bytes, first &+ 8)
    }

    @inline(__always)
    private static func finished(_ low: UInt64, _ high: UInt64, _ count: Int) -> (low: UInt64, high: UInt64) {
        let mixed = low &* prime1 &+ high &* prime4 &+ UInt64(count) &* prime2
        return (avalanche(low &+ high), 0 &- avalanche(mixed))
    }

    // MARK: More than 240 bytes

    private static func stripes128(_ bytes: UnsafeRawPointer, _ count: Int) -> (low: UInt64, high: UInt64) {
        let lanes = accumulated(bytes, count)
        return (
            merged(lanes, 11, UInt64(count) &* prime1),
            merged(lanes, secretSize - stripe - 11, ~(UInt64(count) &* prime2))
        )
    }
}

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
