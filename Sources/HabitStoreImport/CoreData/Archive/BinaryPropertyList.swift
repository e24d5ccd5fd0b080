import Foundation

/// The objects of a binary property list (`bplist00`). Simple objects stay bytes, so that numbers keep their width and archive UIDs stay
/// UIDs.
///
/// Layout: the magic, the objects, a table of their offsets, and a 32-byte trailer: six unused bytes, the size of an offset, the size of a
/// reference, and as 64-bit numbers the object count, the index of the top object and the offset of the table. Containers store the indices
/// of their members, so a list that contains itself is harmless here. See Apple's `CFBinaryPList.c`.
package struct BinaryPropertyList {
    /// Describes damage in the bytes.
    package struct Damage: Error {
        package let message: String

        package init(_ message: String) { self.message = message }
    }

    package enum Object {
        /// The object's bytes.
        case simple(Range<Int>)
        /// An array or a set: its marker without the count, and its members.
        case list(marker: UInt8, [Int])
        case dictionary(keys: [Int], values: [Int])

        /// The indices of the object's members.
        package var members: [Int] {
            switch self {
            case .simple: []
            case .list(_, let members): members
            case .dictionary(let keys, let values): keys + values
            }
        }
    }

    /// The magic.
    package static let header = Array("bplist00".utf8)
    private static let trailerSize = 32
    private static let maximumObjects = 4_000_000

    package let bytes: [UInt8]
    /// The objects by index.
    package private(set) var objects: [Object] = []
    /// The index of the top object.
    package let top: Int

    /// Locates the objects.
    package init(_ bytes: [UInt8]) throws(Damage) {
        self.bytes = bytes
        guard bytes.starts(with: Self.header), bytes.count >= Self.header.count + Self.trailerSize else {
            throw Damage("it is cut short")
        }
        let end = bytes.count - Self.trailerSize
        let (offsetSize, referenceSize) = (Int(bytes[end + 6]), Int(bytes[end + 7]))
        let count = Self.number(bytes, end + 8, 8)
        top = Self.number(bytes, end + 16, 8)
        let table = Self.number(bytes, end + 24, 8)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count > 0, count <= end,
            count <= Self.maximumObjects, top < count, table >= Self.header.count, table <= end,
            count <= (end - table) / offsetSize
        else { throw Damage("its table of objects lies outside of it") }
        let reader = Reader(bytes: bytes, end: table, referenceSize: referenceSize, count: count)
        objects.reserveCapacity(count)
        for index in 0..<count {
            let offset = Self.number(bytes, table + index * offsetSize, offsetSize)
            guard offset >= Self.header.count, offset < table else { throw Damage("an object lies outside of it") }
            objects.append(try reader.object(offset))
        }
    }

    /// A big-endian number; one that is too large becomes `Int.max`, which every bounds check rejects.
    fileprivate static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int {
        var result: UInt64 = 0
        for byte in bytes[offset..<(offset + size)] { result = result << 8 | UInt64(byte) }
        return Int(clamping: result)
    }

    /// A length, from the marker or the number after it, and the offset of the contents.
    fileprivate static func length(_ bytes: [UInt8], _ offset: Int, end: Int) throws(Damage) -> (Int, start: Int) {
        let low = Int(bytes[offset] & 15)
        guard low == 15 else { return (low, offset + 1) }
        guard offset + 1 < end, bytes[offset + 1] >> 4 == 1, bytes[offset + 1] & 15 <= 3 else {
            throw Damage("a length is not a number")
        }
        let size = 1 << Int(bytes[offset + 1] & 15)
        guard offset + 2 + size <= end else { throw Damage("it is cut short") }
        return (number(bytes, offset + 2, size), offset + 2 + size)
    }

    /// The contents of a text or data object.
    package func contents(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard let start = try? Self.length(bytes, range.lowerBound, end: range.upperBound).start else { return [] }
        return bytes[start..<range.upperBound]
    }

    /// The UTF-16 units of a text.
    package static func units(_ contents: ArraySlice<UInt8>) -> [UInt16] {
        stride(from: contents.startIndex, to: contents.endIndex - 1, by: 2).map {
            UInt16(contents[$0]) << 8 | UInt16(contents[$0 + 1])
        }
    }
}

/// Reads single objects, within the bounds of the list's object section.
private struct Reader {
    let bytes: [UInt8]
    let end: Int
    let referenceSize: Int
    let count: Int

    func object(_ offset: Int) throws(BinaryPropertyList.Damage) -> BinaryPropertyList.Object {
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
        switch kind {
        case 0x0 where [0x0, 0x8, 0x9, 0xF].contains(low): return try simple(offset, 0, from: offset + 1)
        case 0x1 where low <= 4, 0x2 where low <= 4: return try simple(offset, 1 << low, from: offset + 1)
        case 0x3 where low == 3: return try simple(offset, 8, from: offset + 1)
        case 0x8: return try simple(offset, low + 1, from: offset + 1)
        default: break
        }
        let (length, start) = try BinaryPropertyList.length(bytes, offset, end: end)
        switch kind {
        case 0x4, 0x5: return try simple(offset, length, from: start)
        case 0x6:
            guard length <= bytes.count else { throw .init("a text is longer than the file") }
            return try simple(offset, 2 * length, from: start)
        case 0xA, 0xB, 0xC: return .list(marker: kind << 4, try references(length, from: start))
        case 0xD:
            guard length <= bytes.count else { throw .init("a dictionary is longer than the file") }
            let all = try references(2 * length, from: start)
            return .dictionary(keys: Array(all[..<length]), values: Array(all[length...]))
        default: throw .init("it holds an object of an unknown kind")
        }
    }

    private func simple(
        _ offset: Int,
        _ size: Int,
        from start: Int
    ) throws(BinaryPropertyList.Damage) -> BinaryPropertyList.Object {
        guard size >= 0, size <= end - start else { throw .init("an object is longer than the file") }
        return .simple(offset..<(start + size))
    }

    private func references(_ count: Int, from start: Int) throws(BinaryPropertyList.Damage) -> [Int] {
        guard count <= (end - start) / referenceSize else { throw .init("a list is longer than the file") }
        var result: [Int] = []
        result.reserveCapacity(count)
        for index in 0..<count {
            let reference = BinaryPropertyList.number(bytes, start + index * referenceSize, referenceSize)
            guard reference < self.count else { throw .init("a list leads to an object that is not there") }
            result.append(reference)
        }
        return result
    }
}
