extension Sequence<UInt8> {
    /// The bytes as lowercase hexadecimal digits in ASCII, two for each byte.
    package var hexadecimalDigits: [UInt8] {
        var digits: [UInt8] = []
        // Most are SHA-256 digests, which do not report their length.
        digits.reserveCapacity(Swift.max(64, 2 * underestimatedCount))
        for byte in self {
            for digit in [byte >> 4, byte & 15] { digits.append(digit + (digit < 10 ? 48 : 87)) }
        }
        return digits
    }

    /// The digits as a text.
    package var hexadecimal: String { String(decoding: hexadecimalDigits, as: UTF8.self) }
}
