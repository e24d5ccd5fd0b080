/// SHA-256 (FIPS 180-4), to name the bytes of a flag file. It guards no secret.
enum SHA256 {
    static func hexadecimalDigest(of bytes: [UInt8]) -> String {
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        bytes.withUnsafeBufferPointer { buffer in
            var offset = 0
            while offset + 64 <= buffer.count {
                compress(&state, buffer[offset..<(offset + 64)])
                offset += 64
            }
            var tail = Array(buffer[offset...]) + [0x80]
            while tail.count % 64 != 56 { tail.append(0) }
            let bitCount = UInt64(buffer.count) * 8
            for shift in stride(from: 56, through: 0, by: -8) {
                tail.append(UInt8(truncatingIfNeeded: bitCount >> shift))
            }
            tail.withUnsafeBufferPointer { tail in
                for start in stride(from: 0, to: tail.count, by: 64) { compress(&state, tail[start..<(start + 64)]) }
            }
        }
        return state.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    private static func compress(_ state: inout [UInt32], _ block: Slice<UnsafeBufferPointer<UInt8>>) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
            for index in 0..<16 {
                let start = block.startIndex + 4 * index
                words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(block[start + $1]) }
            }
            for index in 16..<64 {
                let first = words[index - 15]
                let second = words[index - 2]
                let small0 = rotated(first, 7) ^ rotated(first, 18) ^ first >> 3
                let small1 = rotated(second, 17) ^ rotated(second, 19) ^ second >> 10
                words[index] = words[index - 16] &+ small0 &+ words[index - 7] &+ small1
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            var (e, f, g, h) = (state[4], state[5], state[6], state[7])
            for index in 0..<64 {
                let big1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
                let first = h &+ big1 &+ (e & f ^ ~e & g) &+ constants[index] &+ words[index]
                let big0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
                let second = big0 &+ (a & b ^ a & c ^ b & c)
                (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
            }
            for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
        }
    }

    private static func rotated(_ value: UInt32, _ bits: UInt32) -> UInt32 { value >> bits | value << (32 - bits) }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        var primes: [UInt64] = []
        var candidate: UInt64 = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The largest whole number whose cube is at most prime × 2^96, taken without its whole part.
            var low: UInt64 = 0
            var high: UInt64 = 8 << 32
            while low + 1 < high {
                let middle = (low + high) / 2
                if UInt128(middle) * UInt128(middle) * UInt128(middle) <= UInt128(prime) << 96 {
                    low = middle
                } else {
                    high = middle
                }
            }
            return UInt32(truncatingIfNeeded: low)
        }
    }()
}
