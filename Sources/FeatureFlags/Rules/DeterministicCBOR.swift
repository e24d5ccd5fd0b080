/// CBOR (RFC 8949) in its core deterministic encoding (section 4.2.1): shortest forms, definite lengths, and maps
/// sorted by the bytes of their encoded keys. Numbers without a fraction within -2^63 ... 2^64 - 1 are integers.
enum DeterministicCBOR {
    static func encode(_ value: FlagValue) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    private enum MajorType: UInt8 {
        case unsigned = 0
        case negative = 1
        case text = 3
        case array = 4
        case map = 5
    }

    private static func append(_ value: FlagValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0xF6)
        case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .int(let value): append(value, to: &bytes)
        case .double(let value): append(value, to: &bytes)
        case .string(let text):
            appendHead(.text, UInt64(text.utf8.count), to: &bytes)
            bytes.append(contentsOf: text.utf8)
        case .list(let elements):
            appendHead(.array, UInt64(elements.count), to: &bytes)
            for element in elements { append(element, to: &bytes) }
        case .object(let members):
            appendHead(.map, UInt64(members.count), to: &bytes)
            let encoded = members.map { (key: encode(.string($0.key)), value: $0.value) }
            for member in encoded.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                bytes.append(contentsOf: member.key)
                append(member.value, to: &bytes)
            }
        }
    }

    private static func append(_ value: Int64, to bytes: inout [UInt8]) {
        if value >= 0 {
            appendHead(.unsigned, UInt64(value), to: &bytes)
        } else {
            appendHead(.negative, UInt64(bitPattern: ~value), to: &bytes)
        }
    }

    private static func append(_ value: Double, to bytes: inout [UInt8]) {
        if let integer = Int64(exactly: value) {
            append(integer, to: &bytes)
        } else if let integer = UInt64(exactly: value) {
            appendHead(.unsigned, integer, to: &bytes)
        } else if value.isNaN {
            bytes.append(contentsOf: [0xF9, 0x7E, 0x00])
        } else if let half = halfPrecision(Float(value)), Double(Float(value)) == value {
            bytes.append(0xF9)
            appendBigEndian(UInt64(half), count: 2, to: &bytes)
        } else if Double(Float(value)) == value {
            bytes.append(0xFA)
            appendBigEndian(UInt64(Float(value).bitPattern), count: 4, to: &bytes)
        } else {
            bytes.append(0xFB)
            appendBigEndian(value.bitPattern, count: 8, to: &bytes)
        }
    }

    /// The bits of the IEEE 754 half-precision number of the same value, or nil where there is none.
    private static func halfPrecision(_ value: Float) -> UInt16? {
        let sign = UInt16(value.bitPattern >> 16) & 0x8000
        if value.isInfinite { return sign | 0x7C00 }
        let exponent = Int(value.exponent)
        let significand = value.significandBitPattern
        switch exponent {
        case -14...15:
            guard significand & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(significand >> 13)
        case -24 ..< -14:
            let shift = UInt32(13 + (-14 - exponent))
            let whole = significand | 0x80_0000
            guard whole & (1 << shift - 1) == 0 else { return nil }
            return sign | UInt16(whole >> shift)
        default:
            return nil
        }
    }

    private static func appendHead(_ type: MajorType, _ argument: UInt64, to bytes: inout [UInt8]) {
        let major = type.rawValue << 5
        switch argument {
        case 0..<24:
            bytes.append(major | UInt8(argument))
        case 24...0xFF:
            bytes.append(major | 24)
            appendBigEndian(argument, count: 1, to: &bytes)
        case 0x100...0xFFFF:
            bytes.append(major | 25)
            appendBigEndian(argument, count: 2, to: &bytes)
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(major | 26)
            appendBigEndian(argument, count: 4, to: &bytes)
        default:
            bytes.append(major | 27)
            appendBigEndian(argument, count: 8, to: &bytes)
        }
    }

    private static func appendBigEndian(_ value: UInt64, count: Int, to bytes: inout [UInt8]) {
        for position in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * position))) }
    }
}
