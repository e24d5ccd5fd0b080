extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two for each, in ASCII.
    package var hexadecimalDigits: [UInt8] {
        var digits: [UInt8] = []
        // Most are of SHA-256, whose digest does not say how long it is.
        digits.reserveCapacity(Swift.max(64, 2 * underestimatedCount))
        for byte in self {
            for digit in [byte >> 4, byte & 15] { digits.append(digit + (digit < 10 ? 48 : 87)) }
        }
        return digits
    }

    /// The same as a text.
    package var hexadecimal: String { String(decoding: hexadecimalDigits, as: UTF8.self) }
}
