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
