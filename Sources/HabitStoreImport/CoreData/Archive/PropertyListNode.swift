import Foundation

/// The content of one object of a binary property list. Containers store the indices of their members.
enum PropertyListNode {
    case null
    case bool(Bool)
    case int(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    case string(String)
    /// A keyed archive's UID, which Foundation outside Apple's platforms exposes only as an opaque object.
    case uid(Int)
    case array([Int])
    case dictionary([(key: Int, value: Int)])

    /// Nil for kinds that do not occur in archives.
    init?(_ object: BinaryPropertyList.Object, of list: BinaryPropertyList) {
        switch object {
        case .list(0xB0, _): return nil
        case .list(_, let members): self = .array(members)
        case .dictionary(let keys, let values): self = .dictionary(zip(keys, values).map { (key: $0, value: $1) })
        case .simple(let range): self.init(list.bytes[range.lowerBound], list, range)
        }
    }

    private init?(_ marker: UInt8, _ list: BinaryPropertyList, _ range: Range<Int>) {
        let body = list.bytes[(range.lowerBound + 1)..<range.upperBound]
        // Only the lower half of a 16-byte number counts; those are unsigned.
        let number = body.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch marker {
        case 0x00: self = .null
        case 0x08: self = .bool(false)
        case 0x09: self = .bool(true)
        case 0x10..<0x20: self = .int(Int64(bitPattern: number))
        case 0x22: self = .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: number))))
        case 0x23: self = .real(Double(bitPattern: number))
        case 0x33: self = .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: number)))
        case 0x40..<0x50: self = .data(Data(list.contents(range)))
        case 0x50..<0x60: self = .string(String(decoding: list.contents(range), as: UTF8.self))
        case 0x60..<0x70:
            self = .string(String(decoding: BinaryPropertyList.units(list.contents(range)), as: UTF16.self))
        case 0x80..<0x90:
            guard body.dropLast(8).allSatisfy({ $0 == 0 }), let target = Int(exactly: number) else { return nil }
            self = .uid(target)
        default: return nil
        }
    }
}
