import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Compares every relationship in both directions: in each store the stored references against the answers from the other side, and both stores
    /// with each other.
    ///
    /// Memory grows with the records that are referred to, not with those that refer; if there are many, they are processed in parts.
    ///
    /// - Returns: the number of links compared.
    mutating func compareRelationships() throws -> Int {
        var links = 0
        for (position, entity) in schema.entities.enumerated() {
            for relationship in schema.relationships[position] where relationship.isStored {
                let reading = ReferenceReading(schema: schema, entity: position, relationship: relationship)
                let targets = RecordQuery(entity: schema.entities[relationship.destination].name)
                let most = max(try transactions.a.countRecords(targets), try transactions.b.countRecords(targets))
                for part in ReferenceReading.parts(of: most) {
                    let left = try reading.references(transactions.a, in: part)
                    let right = try reading.references(transactions.b, in: part)
                    links += left.count + right.count
                    compareLinks(left, right, entity, relationship)
                    try compareInverse(transactions.a, (stores.a.name, "A"), left, reading)
                    try compareInverse(transactions.b, (stores.b.name, "B"), right, reading)
                }
            }
        }
        return links
    }

    private mutating func compareLinks(
        _ left: References,
        _ right: References,
        _ entity: EntityDescription,
        _ relationship: Schema.Relationship
    ) {
        let name = relationship.description.name
        let sides = [(left, right, stores.a.name, "A"), (right, left, stores.b.name, "B")]
        for (side, other, store, subject) in sides {
            let onlyHere = side.dangling.subtracting(other.dangling).sorted { $0.source.isBefore($1.source) }
            for link in onlyHere {
                note(
                    StoreDifference(
                        .dangling,
                        "\(entity.name) \(link.source.uuidString): \(name) dangles in \(store) only",
                        entity: entity.name,
                        id: link.source,
                        attribute: name,
                        subject: subject
                    ),
                    observed: {
                        .identifiers(
                            RecordedIdentifiers("dangling in A", left.dangling(from: link.source)),
                            RecordedIdentifiers("dangling in B", right.dangling(from: link.source))
                        )
                    }
                )
            }
            for link in side.repeated {
                note(
                    StoreDifference(
                        .duplicateLink,
                        "\(entity.name) \(link.source.uuidString): \(name) holds a link twice in \(store)",
                        entity: entity.name,
                        id: link.source,
                        attribute: name,
                        subject: subject
                    ),
                    observed: {
                        let repeated = side.repeated.filter { $0.source == link.source }.map(\.target)
                        return .identifiers(
                            RecordedIdentifiers("held again in \(subject)", repeated),
                            RecordedIdentifiers("allowed to be", [])
                        )
                    }
                )
            }
        }
    }

    /// Asks the store for each target's sources by the reference, which it answers from its index.
    private mutating func compareInverse(
        _ transaction: any ReadTransaction,
        _ store: (name: String, letter: String),
        _ references: References,
        _ reading: ReferenceReading
    ) throws {
        let (entity, relationship) = (schema.entities[reading.entity], reading.relationship)
        let attribute = entity.attributes[relationship.attribute].name
        for (target, stored) in references.sources.sorted(by: { $0.key.isBefore($1.key) }) {
            var found = RecordDigest()
            try transaction.enumerateRecords(reading.query(of: target)) {
                found += RecordDigest(of: $0.id)
                return true
            }
            guard found != stored else { continue }
            note(
                StoreDifference(
                    .inverse,
                    "\(schema.entities[relationship.destination].name) \(target.uuidString) has \(stored.count) records "
                        + "by \(entity.name).\(attribute), but \(store.name) finds \(found.count) from the other side"
                        + (found.count == stored.count ? ", which are others" : ""),
                    entity: schema.entities[relationship.destination].name,
                    id: target,
                    attribute: relationship.otherSide(of: entity),
                    subject: store.letter
                )
            )
        }
    }
}

extension Schema.Relationship {
    /// What its other side is called: there the record is that a difference between the two is about.
    func otherSide(of entity: EntityDescription) -> String {
        description.inverse ?? "\(entity.name).\(description.name)"
    }
}

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

extension Comparison {
    /// For the listed relationships whose two directions do not agree, the records that refer to the target, and those that
    /// the store finds from the target. The comparison itself holds digests of them only.
    mutating func inverseEvidence() -> [String: MismatchEvidence] {
        var evidence: [String: MismatchEvidence] = [:]
        for (letter, transaction) in [("A", transactions.a), ("B", transactions.b)] {
            for (position, entity) in schema.entities.enumerated() {
                for relationship in schema.relationships[position] where relationship.isStored {
                    let wanted = report.differences.filter {
                        $0.kind == .inverse && $0.subject == letter
                            && $0.entity == schema.entities[relationship.destination].name
                            && $0.attribute == relationship.otherSide(of: entity)
                    }
                    guard !wanted.isEmpty else { continue }
                    let reading = ReferenceReading(schema: schema, entity: position, relationship: relationship)
                    let found = inverseEvidence(of: wanted, reading, transaction)
                    evidence.merge(found) { first, _ in first }
                }
            }
        }
        return evidence
    }

    private mutating func inverseEvidence(
        of differences: [StoreDifference],
        _ reading: ReferenceReading,
        _ transaction: any ReadTransaction
    ) -> [String: MismatchEvidence] {
        var evidence: [String: MismatchEvidence] = [:]
        do {
            let stored = try sources(Set(differences.compactMap(\.id)), reading, transaction)
            for difference in differences {
                guard let target = difference.id, let letter = difference.subject else { continue }
                let lists = MismatchEvidence.identifiers(
                    RecordedIdentifiers("in the records of \(letter)", stored[target] ?? []),
                    RecordedIdentifiers(
                        "found in \(letter) from the other side",
                        try transaction.records(reading.query(of: target)).map(\.id)
                    )
                )
                evidence[difference.differenceID] =
                    lists.recordable(within: &recordableIdentifiers, showsValues: options.showsValues)
            }
        } catch {
            let code = (error as? HabitStoreError)?.code.rawValue ?? "\(error)"
            for difference in differences where evidence[difference.differenceID] == nil {
                evidence[difference.differenceID] = .statement("the links could not be read again (\(code))")
            }
        }
        return evidence
    }

    /// The records that refer to some targets, by target, ascending.
    private func sources(
        _ targets: Set<UUID>,
        _ reading: ReferenceReading,
        _ transaction: any ReadTransaction
    ) throws -> [UUID: [UUID]] {
        var sources: [UUID: [UUID]] = [:]
        try reading.forEach(transaction) { source, held in
            for target in targets.intersection(held) { sources[target, default: []].append(source) }
        }
        return sources
    }
}
