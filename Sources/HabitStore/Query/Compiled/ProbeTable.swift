/// A hash table over the positions of keys stored elsewhere. It never grows: half of it is empty.
final class ProbeTable {
    private let places: OwnedBuffer<Int32>
    private let mask: Int

    /// A table over keys with these hashes.
    init(_ hashes: [UInt64]) {
        var size = 4
        while size < hashes.count * 2 { size *= 2 }
        mask = size - 1
        places = OwnedBuffer(repeatElement(Int32(-1), count: size))
        for (key, hash) in hashes.enumerated() {
            var place = Int(truncatingIfNeeded: hash) & mask
            while places.base[place] >= 0 { place = (place &+ 1) & mask }
            places.base[place] = Int32(truncatingIfNeeded: key)
        }
    }

    /// Whether one of the keys of a hash is the one looked for.
    @inline(__always)
    func contains(_ hash: UInt64, where isKey: (Int) -> Bool) -> Bool {
        var place = Int(truncatingIfNeeded: hash) & mask
        while true {
            let key = Int(places.base[place])
            if key < 0 { return false }
            if isKey(key) { return true }
            place = (place &+ 1) & mask
        }
    }

    /// Spreads a word over all bits: the finaliser of SplitMix64 (https://prng.di.unimi.it/splitmix64.c).
    @inline(__always)
    static func mix(_ word: UInt64) -> UInt64 {
        var result = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }

    /// The hash of bytes.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var result = UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while offset &+ 8 <= bytes.count {
            result = mix(result ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        var rest: UInt64 = 0
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset &+= 1
        }
        return mix(result ^ rest)
    }
}
