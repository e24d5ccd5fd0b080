internal import CZlib
import Foundation

/// A keyed archive (`NSKeyedArchiver`), read as keys and values without instantiating its objects.
struct KeyedArchive {
    /// The index of an object in the archive.
    typealias Reference = Int

    /// The property list's objects by index.
    private let nodes: [PropertyListNode]
    private let objects: [Int]
    let root: Reference

    /// Nil if the bytes are not a keyed archive.
    init?(_ data: Data) {
        guard let list = try? BinaryPropertyList([UInt8](data)) else { return nil }
        var nodes: [PropertyListNode] = []
        nodes.reserveCapacity(list.objects.count)
        for object in list.objects {
            guard let node = PropertyListNode(object, of: list) else { return nil }
            nodes.append(node)
        }
        guard let top = Self.members(nodes, list.top),
            let objectsNode = top["$objects"], case .array(let objects) = nodes[objectsNode],
            let topNode = top["$top"], let tops = Self.members(nodes, topNode),
            let rootNode = tops["root"] ?? tops.values.first, case .uid(let root) = nodes[rootNode],
            objects.indices.contains(root)
        else { return nil }
        self.nodes = nodes
        self.objects = objects
        self.root = root
    }

    private static func members(_ nodes: [PropertyListNode], _ node: Int) -> [String: Int]? {
        guard case .dictionary(let pairs) = nodes[node] else { return nil }
        var result: [String: Int] = [:]
        for (key, value) in pairs {
            if case .string(let name) = nodes[key] { result[name] = value }
        }
        return result
    }

    /// The object that a reference leads to.
    func node(_ reference: Reference) -> PropertyListNode {
        objects.indices.contains(reference) ? nodes[objects[reference]] : .null
    }

    /// An object's keys and values, with references resolved.
    func fields(_ reference: Reference) -> [String: Field] {
        guard objects.indices.contains(reference), let members = Self.members(nodes, objects[reference]) else {
            return [:]
        }
        return members.mapValues { number in
            if case .uid(let target) = nodes[number] { return Field(reference: target, node: node(target)) }
            return Field(reference: nil, node: nodes[number])
        }
    }

    func className(_ reference: Reference) -> String? {
        guard let target = fields(reference)["$class"]?.reference else { return nil }
        return fields(target)["$classname"]?.text
    }

    /// The members of an archived array, set or dictionary of values; empty for anything else.
    func elements(_ reference: Reference?) -> [Reference] {
        guard let reference else { return [] }
        var fields = fields(reference)
        // A dictionary over known keys keeps its values in a separate array.
        if let known = fields["values"]?.reference { fields = self.fields(known) }
        guard case .array(let members)? = fields["NS.objects"]?.node else { return [] }
        return members.compactMap { member in
            if case .uid(let target) = nodes[member] { return target }
            return nil
        }
    }

    /// The value of a key.
    struct Field {
        /// The object's reference; nil for an inline value.
        let reference: Reference?
        let node: PropertyListNode

        var text: String? {
            if case .string(let text) = node, text != "$null" { return text }
            return nil
        }
        var int: Int? {
            if case .int(let number) = node { return Int(number) }
            return nil
        }
        /// True or false, also if archived as a number.
        var bool: Bool {
            switch node {
            case .bool(let flag): return flag
            case .int(let number): return number != 0
            default: return false
            }
        }
        /// Whether the archive stores an explicit null.
        var isNull: Bool {
            switch node {
            case .null: return true
            case .string("$null"): return reference == 0
            default: return false
            }
        }
    }
}

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

/// Decompresses DEFLATE with a limit on the output: a few bytes of input can expand to gigabytes.
package enum Inflation {
    /// The format around the compressed data.
    package enum Wrapping: Int32, CaseIterable {
        /// Nothing: raw DEFLATE, as Core Data writes its model.
        case none = -15
        /// zlib's header and checksum.
        case zlib = 15
    }

    /// The decompressed bytes; nil if the input has another format, is truncated, or expands to more than `limit`.
    package static func inflate(_ input: Data, _ wrapping: Wrapping, limit: Int) -> Data? {
        var stream = z_stream()
        guard czlib_inflate_init(&stream, wrapping.rawValue) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var output = Data()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var source = [UInt8](input)
        return source.withUnsafeMutableBufferPointer { bytes -> Data? in
            stream.next_in = bytes.baseAddress
            stream.avail_in = UInt32(clamping: bytes.count)
            while true {
                let (status, made) = chunk.withUnsafeMutableBufferPointer { room -> (Int32, Int) in
                    stream.next_out = room.baseAddress
                    stream.avail_out = UInt32(room.count)
                    let status = CZlib.inflate(&stream, Z_NO_FLUSH)
                    return (status, room.count - Int(stream.avail_out))
                }
                output.append(contentsOf: chunk[..<made])
                guard output.count <= limit else { return nil }
                if status == Z_STREAM_END { return output }
                guard status == Z_OK, made > 0 || stream.avail_in > 0 else { return nil }
            }
        }
    }
}
