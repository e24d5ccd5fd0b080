import Foundation
@_spi(Engines) import HabitStore

/// The form of an index's keys. `memcmp` orders them like the declared order orders the attributes' values.
///
/// ```
/// for each attribute   00 when it is nil, else 01 and
///     bool             1 byte, 0 or 1
///     int              8 bytes, big-endian, the sign bit flipped
///     double, date     8 bytes, big-endian IEEE 754; negative: all bits flipped, else the sign bit flipped
///     uuid             16 bytes
///     string, data     the bytes, 00 written as 00 FF, ended by 00 00; cut short where they exceed the budget, before
///                      an escape is split, and then ended by 00 01
///     links            16 bytes, one key for each link, and none without links
/// then                 the identifier, 16 bytes
/// ```
/// LMDB's keys end at 511 bytes. The variable attributes evenly share what the fixed parts leave: that is the budget. A truncated
/// text sorts after the text that equals its remaining part, and the order of equally truncated texts is decided by their records.
package struct IndexKeyLayout: Sendable {
    /// One attribute of the key.
    package struct Part: Sendable {
        let position: Int
        let kind: AttributeKind
        let isOptional: Bool

        var isVariable: Bool { IndexKeyRoom.isVariable(kind) }
    }

    package let parts: [Part]
    /// The maximum number of bytes of a text, without its terminator.
    package let budget: Int
    /// The position of the attribute whose links each have a separate key.
    package let linksPosition: Int?

    /// - Throws: `.unsupported` if an attribute cannot be in a key, or if there are too many.
    package init(_ index: IndexDescription, of entity: EntityDescription) throws {
        let parts = try index.attributes.map { try Self.part($0, of: entity) }
        let links = parts.filter { $0.kind == .links }
        guard links.count <= 1 else {
            throw Self.unsupported(entity, index, "holds two attributes of links; declare two indexes")
        }
        self.parts = parts
        linksPosition = links.first?.position
        guard let budget = IndexKeyRoom.textBudget(parts.map(\.kind)) else {
            throw Self.unsupported(
                entity,
                index,
                "has too many attributes for a key of \(IndexKeyRoom.longestKey) bytes; it can have \(IndexKeyRoom.most)"
            )
        }
        self.budget = budget
    }

    /// Whether the keys consist of exactly these attributes.
    package func holds(_ attributes: [Int]) -> Bool { Set(parts.map(\.position)) == Set(attributes) }

    /// Whether one of the attributes is nil in a record.
    package func holdsNil(of record: RecordView) -> Bool { parts.contains { record.isNull(at: $0.position) } }

    private static func part(_ name: String, of entity: EntityDescription) throws -> Part {
        guard let position = entity.position(of: name) else {
            throw HabitStoreError(.schemaMismatch, "an index of \(entity.name) names \(name), which it lacks")
        }
        let attribute = entity.attributes[position]
        guard attribute.kind != .strings else {
            throw HabitStoreError(
                .unsupported,
                "\(entity.name).\(name) is a list of texts and cannot be indexed; take it out of the index",
                at: .init(entity: entity.name, attribute: name)
            )
        }
        return Part(position: position, kind: attribute.kind, isOptional: attribute.isOptional)
    }

    private static func unsupported(
        _ entity: EntityDescription,
        _ index: IndexDescription,
        _ reason: String
    ) -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the index \(KeyFormat.indexName(entity.name, index)) \(reason)",
            at: .init(entity: entity.name)
        )
    }
}

extension IndexKeyLayout {
    /// The end of a key's first truncated text, counted from the start of the key; nil if no text in it is truncated.
    ///
    /// - Parameters:
    ///   - first: the first attribute to look at.
    ///   - start: the offset of that attribute.
    /// - Throws: `.corrupt` if the key does not have this layout.
    package func endOfFirstCut(_ key: UnsafeRawBufferPointer, from first: Int, at start: Int) throws -> Int? {
        var offset = start
        for part in parts[first...] {
            guard offset < key.count else { throw Self.malformed }
            let presence = key[offset]
            offset += 1
            guard presence != 0 else { continue }
            guard presence == 1 else { throw Self.malformed }
            guard part.isVariable else {
                offset += IndexKeyRoom.fixedLength(part.kind) - 1
                continue
            }
            let end = try Self.endOfText(key, at: offset)
            offset = end.offset
            if end.isCut { return offset }
        }
        return nil
    }

    private static func endOfText(_ key: UnsafeRawBufferPointer, at start: Int) throws -> (offset: Int, isCut: Bool) {
        var offset = start
        while offset + 1 < key.count {
            guard key[offset] == 0 else {
                offset += 1
                continue
            }
            switch key[offset + 1] {
            case 0: return (offset + 2, false)
            case 1: return (offset + 2, true)
            case 0xFF: offset += 2
            default: throw malformed
            }
        }
        throw malformed
    }

    private static var malformed: HabitStoreError {
        HabitStoreError.damage("an index holds a key that is none; run `\(OperatorCommand.name) check`")
    }
}

/// A row with only those attributes of an index key that precede any text.
package final class KeyRow: AttributeColumns {
    /// The key, which must remain in place while the row is lent.
    package var key = UnsafeRawBufferPointer(start: nil, count: 0)
    private let layout: IndexKeyLayout

    package init(_ layout: IndexKeyLayout) { self.layout = layout }

    /// Whether keys of a layout contain a complete attribute at an offset that does not depend on texts.
    package static func holds(_ position: Int, _ layout: IndexKeyLayout) -> Bool {
        if position == 0 { return true }
        for part in layout.parts {
            guard !part.isVariable, part.kind != .links else { return false }
            if part.position == position { return true }
        }
        return false
    }

    package override func uuid(_ position: Int) throws -> UUID {
        guard position == 0 else { return UUID(uuid: try bytes(position, as: uuid_t.self)) }
        guard key.count > KeyFormat.identifierLength else { throw malformed() }
        return key.loadUnaligned(fromByteOffset: key.count - KeyFormat.identifierLength, as: UUID.self)
    }

    package override func isNull(_ position: Int) throws -> Bool { try position != 0 && place(position) == nil }

    package override func bool(_ position: Int) throws -> Bool { try bytes(position, as: UInt8.self) != 0 }

    package override func int(_ position: Int) throws -> Int64 {
        Int64(bitPattern: UInt64(bigEndian: try bytes(position, as: UInt64.self)) ^ (1 << 63))
    }

    package override func double(_ position: Int) throws -> Double {
        let ordered = UInt64(bigEndian: try bytes(position, as: UInt64.self))
        let number = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
        guard number.isFinite else { throw malformed() }
        return number
    }

    package override func value(_ position: Int) throws -> Value {
        if position == 0 { return .uuid(try uuid(0)) }
        guard let (_, kind) = try place(position) else { return .null }
        switch kind {
        case .bool: return .bool(try bool(position))
        case .int: return .int(try int(position))
        case .double: return .double(try double(position))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: try double(position)))
        case .uuid: return .uuid(try uuid(position))
        case .string, .data, .strings, .links: throw missing(position)
        }
    }

    private func bytes<T: BitwiseCopyable>(_ position: Int, as type: T.Type) throws -> T {
        guard let (offset, _) = try place(position), offset + MemoryLayout<T>.size <= key.count else {
            throw malformed()
        }
        return key.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// The offset and kind of an attribute's value; nil if it is nil.
    private func place(_ position: Int) throws -> (offset: Int, kind: AttributeKind)? {
        var offset = 0
        for part in layout.parts {
            guard offset < key.count, !part.isVariable, part.kind != .links else { break }
            let isPresent = key[offset] != 0
            if part.position == position { return isPresent ? (offset + 1, part.kind) : nil }
            offset += isPresent ? 1 + Self.length(part.kind) : 1
        }
        guard offset < key.count else { throw malformed() }
        throw missing(position)
    }

    private static func length(_ kind: AttributeKind) -> Int {
        switch kind {
        case .bool: 1
        case .int, .double, .date: 8
        case .uuid: 16
        case .string, .data, .strings, .links: 0
        }
    }

    private func malformed() -> HabitStoreError {
        HabitStoreError.damage("an index holds a key that is none; run `\(OperatorCommand.name) check`")
    }

    private func missing(_ position: Int) -> HabitStoreError {
        HabitStoreError(
            .internalInconsistency,
            "attribute \(position) was read of a row that was asked for other attributes only"
        )
    }
}

/// A row with nothing but its identifier, from an index key.
package final class IdentifierRow: AttributeColumns {
    /// The identifier of the row.
    package var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    package override func uuid(_ position: Int) throws -> UUID { position == 0 ? id : try super.uuid(position) }

    package override func value(_ position: Int) throws -> Value { .uuid(try uuid(position)) }

    package override func isNull(_ position: Int) throws -> Bool { position == 0 ? false : try super.isNull(position) }
}

/// An identifier as two numbers, ordered like its bytes.
@frozen package struct IdentifierOrder: Comparable, BitwiseCopyable {
    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    /// The identifier at the end of a key.
    ///
    /// - Precondition: the key has at least ``KeyFormat/identifierLength`` bytes.
    @inlinable
    @inline(__always)
    package init(endOf key: UnsafeRawBufferPointer) {
        let start = key.count - 16
        high = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        low = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
    }

    /// The identifier's bytes, in memory order as in keys.
    @inlinable package var bytes: (UInt64, UInt64) { (high.bigEndian, low.bigEndian) }

    @inlinable
    @inline(__always)
    package static func < (left: IdentifierOrder, right: IdentifierOrder) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
