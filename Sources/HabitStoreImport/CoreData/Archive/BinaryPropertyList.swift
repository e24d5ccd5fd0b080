import Foundation

/// A binary property list (`bplist00`), taken apart object by object.
///
/// Layout: the magic, the objects, a table of their offsets, and a trailer of 32 bytes: six unused, the bytes of an offset,
/// the bytes of a reference, and as 64-bit numbers how many objects there are, which is the topmost, and where the table is.
struct BinaryPropertyList {
    /// The objects by their numbers.
    let nodes: [PropertyListNode]
    /// The number of the topmost.
    let top: Int

    private static let maximumObjects = 4_000_000

    /// Nil for bytes that are no such list, or one that is damaged.
    init?(_ data: Data) {
        let bytes = [UInt8](data)
        guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else { return nil }
        let trailer = bytes.count - 32
        let (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        guard let count = Self.number(bytes, trailer + 8, 8), let top = Self.number(bytes, trailer + 16, 8),
            let table = Self.number(bytes, trailer + 24, 8),
            (1...8).contains(offsetSize), (1...8).contains(referenceSize), count > 0, count <= Self.maximumObjects,
            top < count, table >= 8, table <= trailer, (trailer - table) / offsetSize >= count
        else { return nil }
        let reader = Reader(bytes: bytes, end: table, referenceSize: referenceSize, count: count)
        var nodes: [PropertyListNode] = []
        nodes.reserveCapacity(count)
        for index in 0..<count {
            guard let offset = Self.number(bytes, table + index * offsetSize, offsetSize),
                let node = reader.node(at: offset)
            else { return nil }
            nodes.append(node)
        }
        self.nodes = nodes
        self.top = top
    }

    /// A big-endian number that fits into an `Int`.
    fileprivate static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int? {
        guard offset >= 0, size >= 0, offset <= bytes.count - size else { return nil }
        let value = bytes[offset..<(offset + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value)
    }
}

/// Reads single objects, each within the bounds of the part of the list that holds them.
private struct Reader {
    let bytes: [UInt8]
    let end: Int
    let referenceSize: Int
    let count: Int

    func node(at offset: Int) -> PropertyListNode? {
        guard offset >= 8, offset < end else { return nil }
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
        switch kind {
        case 0x0: return simple(low)
        case 0x1: return integer(offset + 1, 1 << low)
        case 0x2: return real(offset + 1, 1 << low)
        case 0x3: return bits(offset + 1).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
        case 0x4: return counted(offset, low).flatMap { slice($0.start, $0.count) }.map { .data(Data($0)) }
        case 0x5:
            return counted(offset, low).flatMap { slice($0.start, $0.count) }.map {
                .string(String(decoding: $0, as: UTF8.self))
            }
        case 0x6: return counted(offset, low).flatMap { text16($0.start, $0.count) }
        case 0x8: return BinaryPropertyList.number(bytes, offset + 1, low + 1).map { .uid($0) }
        case 0xA, 0xC: return counted(offset, low).flatMap { references($0.start, $0.count) }.map { .array($0) }
        case 0xD: return dictionary(offset, low)
        default: return nil
        }
    }

    private func simple(_ low: Int) -> PropertyListNode? {
        switch low {
        case 0: return .null
        case 8: return .bool(false)
        case 9: return .bool(true)
        default: return nil
        }
    }

    private func integer(_ offset: Int, _ size: Int) -> PropertyListNode? {
        // Eight bytes are signed; sixteen are an unsigned number of which the lower half counts.
        if size == 16 { return bits(offset + 8).map { .int(Int64(bitPattern: $0)) } }
        if size == 8 { return bits(offset).map { .int(Int64(bitPattern: $0)) } }
        guard size < 8 else { return nil }
        return BinaryPropertyList.number(bytes, offset, size).map { .int(Int64($0)) }
    }

    private func real(_ offset: Int, _ size: Int) -> PropertyListNode? {
        if size == 8 { return bits(offset).map { .real(Double(bitPattern: $0)) } }
        guard size == 4, let number = BinaryPropertyList.number(bytes, offset, 4) else { return nil }
        return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: number))))
    }

    private func bits(_ offset: Int) -> UInt64? {
        guard let slice = slice(offset, 8) else { return nil }
        return slice.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func slice(_ offset: Int, _ count: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, count >= 0, count <= end, offset <= end - count else { return nil }
        return bytes[offset..<(offset + count)]
    }

    /// Where an object's contents begin, and how many there are: in the marker, or in a number behind it.
    private func counted(_ offset: Int, _ low: Int) -> (start: Int, count: Int)? {
        guard low == 15 else { return (offset + 1, low) }
        guard offset + 1 < end, bytes[offset + 1] >> 4 == 1 else { return nil }
        let size = 1 << Int(bytes[offset + 1] & 15)
        guard size <= 8, let count = BinaryPropertyList.number(bytes, offset + 2, size) else { return nil }
        return (offset + 2 + size, count)
    }

    private func text16(_ offset: Int, _ count: Int) -> PropertyListNode? {
        guard count <= end / 2, let slice = slice(offset, 2 * count) else { return nil }
        let units = stride(from: slice.startIndex, to: slice.endIndex, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        return .string(String(decoding: units, as: UTF16.self))
    }

    private func references(_ offset: Int, _ count: Int) -> [Int]? {
        guard count <= end / referenceSize, slice(offset, count * referenceSize) != nil else { return nil }
        var result: [Int] = []
        result.reserveCapacity(count)
        for index in 0..<count {
            guard let number = BinaryPropertyList.number(bytes, offset + index * referenceSize, referenceSize),
                number < self.count
            else { return nil }
            result.append(number)
        }
        return result
    }

    private func dictionary(_ offset: Int, _ low: Int) -> PropertyListNode? {
        guard let (start, count) = counted(offset, low), count <= end / referenceSize,
            let all = references(start, 2 * count)
        else { return nil }
        return .dictionary(zip(all[..<count], all[count...]).map { (key: $0, value: $1) })
    }
}
