import Foundation

/// A reference that an entity's own records hold, as writing looks at it: numbers only.
struct StoredReference: Sendable {
    /// The position of the attribute, an identifier or links.
    let attribute: Int
    /// The position of the entity that it leads to.
    let destination: Int
    /// The position of the relationship.
    let relationship: Int

    /// Those of an entity's relationships.
    static func all(_ relationships: [Schema.Relationship]) -> [StoredReference] {
        relationships.enumerated().compactMap { position, relationship in
            guard relationship.isStored else { return nil }
            return StoredReference(
                attribute: relationship.attribute,
                destination: relationship.destination,
                relationship: position
            )
        }
    }

    /// Hands what a record refers to, and its earlier form did not refer to, to `body`.
    func forEachNewTarget(of record: RecordView, since old: RecordView?, _ body: (UUID) throws -> Void) throws {
        let targets = try identifiers(record)
        guard !targets.isEmpty else { return }
        var known: Set<UUID> = []
        if let old {
            let before = try identifiers(old)
            if before.elementsEqual(targets) { return }
            known = Set(try RecordView.links(before))
        }
        for offset in stride(from: 0, to: targets.count, by: 16) {
            let target = targets.loadUnaligned(fromByteOffset: offset, as: UUID.self)
            if known.isEmpty || !known.contains(target) { try body(target) }
        }
    }

    private func identifiers(_ record: RecordView) throws -> UnsafeRawBufferPointer {
        let bytes = try record.rawBytes(at: attribute)
        guard bytes.count.isMultiple(of: 16) else { throw AttributeReader.outOfBounds }
        return bytes
    }
}
