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
