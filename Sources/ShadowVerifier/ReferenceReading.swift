import Foundation
@_spi(Engines) import HabitStore

/// The stored references of a relationship in one store.
struct References {
    /// A reference from one record to another.
    struct Link: Hashable {
        let source: UUID
        let target: UUID
    }

    /// For each record that is referred to, a digest of those that refer to it.
    var sources: [UUID: RecordDigest] = [:]
    /// References that lead to no record.
    var dangling: Set<Link> = []
    /// References that stand in a record more than once.
    var repeated: [Link] = []
    /// All of them.
    var count = 0

    /// Where the dangling references of one record lead.
    func dangling(from source: UUID) -> [UUID] {
        dangling.filter { $0.source == source }.map(\.target).sorted { $0.isBefore($1) }
    }
}

/// Reads the stored references of a relationship, independently of the store's own transactions where that can be.
struct ReferenceReading {
    let schema: Schema
    let entity: Int
    let relationship: Schema.Relationship

    /// The most referenced records that are held in memory at a time.
    static let mostTargets = 1 << 17

    /// Parts of all identifiers, in their order, so that of records which are referred to about ``mostTargets`` at most lie in each.
    static func parts(of targets: Int) -> [IdentifierRange] {
        let count = min(1 << 16, max(1, (targets + mostTargets - 1) / mostTargets))
        return (0..<count).map { part in
            let (first, end) = (part << 16 / count, (part + 1) << 16 / count)
            return IdentifierRange(first: identifier(first, filledWith: 0), last: identifier(end - 1, filledWith: 255))
        }
    }

    /// The identifier that begins with 16 bits.
    private static func identifier(_ start: Int, filledWith byte: UInt8) -> UUID {
        let bytes =
            [UInt8(truncatingIfNeeded: start >> 8), UInt8(truncatingIfNeeded: start)]
            + [UInt8](repeating: byte, count: 14)
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// The references that lead to records of a part.
    func references(_ transaction: any ReadTransaction, in part: IdentifierRange) throws -> References {
        var result = References()
        try forEach(transaction) { source, targets in
            for (place, target) in targets.enumerated() where part.contains(target) {
                result.count += 1
                if targets[..<place].contains(target) {
                    result.repeated.append(References.Link(source: source, target: target))
                } else {
                    result.sources[target, default: RecordDigest()] += RecordDigest(of: source)
                }
            }
        }
        let missing = try Set(
            result.sources.keys.filter { target in
                try !transaction.withRow(entity: relationship.destination, id: target) { _ in }
            }
        )
        guard !missing.isEmpty else { return result }
        try forEach(transaction) { source, targets in
            for target in targets where missing.contains(target) {
                result.dangling.insert(References.Link(source: source, target: target))
            }
        }
        return result
    }

    /// Asks for the records that refer to a target, which a store answers from its index.
    func query(of target: UUID) -> RecordQuery {
        let description = schema.entities[entity]
        let reference = FilterExpression.attribute(AttributePath(description.attributes[relationship.attribute].name))
        let filter: FilterExpression =
            relationship.description.isToOne
            ? .compare(.equal, reference, .literal(.uuid(target)))
            : .text(.contains, reference, .literal(.uuid(target)))
        return RecordQuery(entity: description.name, filter: filter)
    }

    /// Hands each record that refers to others to `body`, with the identifiers that it holds.
    func forEach(_ transaction: any ReadTransaction, _ body: (UUID, [UUID]) throws -> Void) throws {
        let cursor = try transaction.contents(entity: entity, in: .all)
        while try cursor.next() {
            var reader = CanonicalReader(cursor.canonical)
            for _ in 0..<relationship.attribute { _ = try reader.next() }
            switch try reader.next()?.value {
            case .uuid(let target): try body(cursor.identifier, [target])
            case .links(let targets): try body(cursor.identifier, targets)
            default: continue
            }
        }
    }
}

extension RecordDigest {
    /// The digest of one identifier.
    init(of id: UUID) { self = withUnsafeBytes(of: id.uuid) { RecordDigest($0) } }
}
