import Foundation
@_spi(Engines) import HabitStore

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
