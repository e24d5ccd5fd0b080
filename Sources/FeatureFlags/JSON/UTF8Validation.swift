/// Well-formedness of UTF-8 as table 3-7 of the Unicode Standard has it: no overlong forms, no surrogates, nothing
/// above U+10FFFF.
enum UTF8Validation {
    /// The offset of the first byte that does not belong to a well-formed sequence, or nil where all do.
    static func firstInvalidOffset(in bytes: [UInt8], from start: Int = 0) -> Int? {
        var index = start
        while index < bytes.count {
            let first = bytes[index]
            if first < 0x80 {
                index += 1
                continue
            }
            guard let form = sequenceForm(first), index + form.length <= bytes.count else { return index }
            guard form.second.contains(bytes[index + 1]) else { return index }
            for offset in 2..<max(2, form.length) where bytes[index + offset] & 0xC0 != 0x80 { return index }
            index += form.length
        }
        return nil
    }

    /// How long the sequence is and which second bytes are allowed, or nil for a byte that can start none.
    private static func sequenceForm(_ first: UInt8) -> (length: Int, second: ClosedRange<UInt8>)? {
        switch first {
        case 0xC2...0xDF: (2, 0x80...0xBF)
        case 0xE0: (3, 0xA0...0xBF)
        case 0xED: (3, 0x80...0x9F)
        case 0xE1...0xEF: (3, 0x80...0xBF)
        case 0xF0: (4, 0x90...0xBF)
        case 0xF1...0xF3: (4, 0x80...0xBF)
        case 0xF4: (4, 0x80...0x8F)
        default: nil
        }
    }
}
