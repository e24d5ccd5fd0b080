import Foundation

/// A binary property list (`bplist00`), taken apart object by object. The simple ones are kept as the bytes that they are: a number
/// keeps its width, an identifier of an archive stays one, whatever Swift would make of it.
///
/// Layout: the magic, the objects, a table of their offsets, and a trailer of 32 bytes: six unused, the bytes of an offset,
/// the bytes of a reference, and as 64-bit numbers how many objects there are, which is the topmost, and where the table is. A
/// container holds the numbers of its members, so that a list that refers to itself is no danger to who reads it here. See Apple's
/// `CFBinaryPList.c`.
package struct BinaryPropertyList {
    /// What is wrong with the bytes, in words.
    package struct Damage: Error {
        package let message: String

        package init(_ message: String) { self.message = message }
    }

    /// One object.
    package enum Object {
        /// The object's bytes as they stand.
        case simple(Range<Int>)
        /// An array or a set: its marker without the count, and the members.
        case list(marker: UInt8, [Int])
        case dictionary(keys: [Int], values: [Int])

        /// The numbers of what it holds.
        package var members: [Int] {
            switch self {
            case .simple: []
            case .list(_, let members): members
            case .dictionary(let keys, let values): keys + values
            }
        }
    }

    /// What the bytes begin with.
    package static let header = Array("bplist00".utf8)
    private static let trailerSize = 32
    private static let maximumObjects = 4_000_000

    package let bytes: [UInt8]
    /// The objects by their numbers.
    package private(set) var objects: [Object] = []
    /// The number of the topmost.
    package let top: Int

    /// Finds the objects.
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

    /// A big-endian number; too large ones become the largest, which nothing accepts.
    fileprivate static func number(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> Int {
        var result: UInt64 = 0
        for byte in bytes[offset..<(offset + size)] { result = result << 8 | UInt64(byte) }
        return Int(clamping: result)
    }

    /// A length that stands in the marker, or behind it as a number of its own, and where the contents begin.
    fileprivate static func length(_ bytes: [UInt8], _ offset: Int, end: Int) throws(Damage) -> (Int, start: Int) {
        let low = Int(bytes[offset] & 15)
        guard low == 15 else { return (low, offset + 1) }
        guard offset + 1 < end, bytes[offset + 1] >> 4 == 1, bytes[offset + 1] & 15 <= 3 else {
            throw Damage("a length is no number")
        }
        let size = 1 << Int(bytes[offset + 1] & 15)
        guard offset + 2 + size <= end else { throw Damage("it is cut short") }
        return (number(bytes, offset + 2, size), offset + 2 + size)
    }

    /// The contents of a simple object with a length: a text or data.
    package func contents(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard let start = try? Self.length(bytes, range.lowerBound, end: range.upperBound).start else { return [] }
        return bytes[start..<range.upperBound]
    }

    /// The 16-bit units of a text.
    package static func units(_ contents: ArraySlice<UInt8>) -> [UInt16] {
        stride(from: contents.startIndex, to: contents.endIndex - 1, by: 2).map {
            UInt16(contents[$0]) << 8 | UInt16(contents[$0 + 1])
        }
    }
}

/// Reads single objects, each within the bounds of the part of the list that holds them.
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
