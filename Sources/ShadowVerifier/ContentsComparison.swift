import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Compares every record of both stores, each read from its file by code that nothing else uses.
    ///
    /// - Returns: the number of records compared.
    mutating func compareContents(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        var state = checkpoint?.contents ?? ContentsProgress()
        while state.entity < schema.entities.count {
            var tallies: (a: DigestTally?, b: DigestTally?) = (nil, nil)
            try findingDamage(state.entity) { tallies = try $0.compareEntity(&state, progress) }
            noteDigests(tallies.a, stores.a.name, state.entity)
            noteDigests(tallies.b, stores.b.name, state.entity)
            state.beginNextEntity()
        }
        return state.compared
    }

    /// - Returns: the digests of what was read, of the stores that keep digests.
    private mutating func compareEntity(
        _ state: inout ContentsProgress,
        _ progress: (ShadowVerifier.Progress) throws -> Void
    ) throws -> (DigestTally?, DigestTally?) {
        let (entity, range, before) = (state.entity, state.rest, state.tallies)
        var left = ContentsReading(
            try transactions.a.contents(entity: entity, in: range),
            try transactions.a.keptDigests(of: entity).map { DigestTally($0, before.a ?? .init()) }
        )
        var right = ContentsReading(
            try transactions.b.contents(entity: entity, in: range),
            try transactions.b.keptDigests(of: entity).map { DigestTally($0, before.b ?? .init()) }
        )
        try merge(&left, &right, entity) { comparison, left, right in
            state.compared += 1
            try comparison.advance(progress)
            // Where one side is ahead of the other, what was read is not the same stretch of identifiers on both.
            guard comparison.checkpointIsDue(state.compared), !left.isAtEnd, !right.isAtEnd,
                left.identifier == right.identifier
            else { return }
            state.last = left.identifier
            state.tallies = ContentsProgress.Tallies(a: left.tally?.state, b: right.tally?.state)
            try comparison.keepCheckpoint(state)
        }
        return (left.tally, right.tally)
    }

    /// Compares the records of a range; for where digests have told that they differ.
    ///
    /// - Returns: the number of records compared.
    mutating func compareRecords(_ entity: Int, in range: IdentifierRange) throws -> Int {
        var compared = 0
        var left = ContentsReading(try transactions.a.contents(entity: entity, in: range), nil)
        var right = ContentsReading(try transactions.b.contents(entity: entity, in: range), nil)
        try merge(&left, &right, entity) { _, _, _ in compared += 1 }
        return compared
    }

    /// Walks two stores' records side by side.
    ///
    /// - Parameter compared: called after each identifier, before either side advances.
    private mutating func merge(
        _ left: inout ContentsReading,
        _ right: inout ContentsReading,
        _ entity: Int,
        _ compared: (inout Comparison, borrowing ContentsReading, borrowing ContentsReading) throws -> Void
    ) throws {
        let description = schema.entities[entity]
        try left.advance()
        try right.advance()
        while !left.isAtEnd || !right.isAtEnd {
            // A form begins with the record's key: equal forms are records of one identifier.
            if !left.isAtEnd, !right.isAtEnd, left.canonical.beginsWithKey,
                left.canonical.hasSameBytes(as: right.canonical)
            {
                try compared(&self, left, right)
                try left.advance()
                try right.advance()
            } else if left.isAtEnd || (!right.isAtEnd && right.identifier.isBefore(left.identifier)) {
                note(missing(.missingInA, right.identifier, description, in: stores.a.name))
                try compared(&self, left, right)
                try right.advance()
            } else if right.isAtEnd || left.identifier.isBefore(right.identifier) {
                note(missing(.missingInB, left.identifier, description, in: stores.b.name))
                try compared(&self, left, right)
                try left.advance()
            } else {
                try describe(left.canonical, right.canonical, left.identifier, description)
                try compared(&self, left, right)
                try left.advance()
                try right.advance()
            }
        }
    }

    private func missing(
        _ kind: StoreDifference.Kind,
        _ id: UUID,
        _ entity: EntityDescription,
        in name: String
    ) -> StoreDifference {
        StoreDifference(kind, "\(entity.name) \(id.uuidString) is not in \(name)", entity: entity.name, id: id)
    }

    /// Says which attributes of a record differ.
    private mutating func describe(
        _ left: UnsafeRawBufferPointer,
        _ right: UnsafeRawBufferPointer,
        _ id: UUID,
        _ entity: EntityDescription
    ) throws {
        guard left.beginsWithKey, right.beginsWithKey else { return note(unreadable(id, entity)) }
        var readers = (CanonicalReader(left), CanonicalReader(right))
        for attribute in entity.attributes {
            guard let first = try readers.0.next(), let second = try readers.1.next() else {
                return note(unreadable(id, entity))
            }
            guard !first.isIdentical(to: second) else { continue }
            note(
                StoreDifference(
                    .attribute,
                    "\(entity.name) \(id.uuidString): \(attribute.name) differs",
                    entity: entity.name,
                    id: id,
                    attribute: attribute.name,
                    a: first.value.map(shown) ?? "no \(attribute.kind.rawValue)",
                    b: second.value.map(shown) ?? "no \(attribute.kind.rawValue)"
                )
            )
        }
    }

    /// One side's record is not made of attributes at all.
    private func unreadable(_ id: UUID, _ entity: EntityDescription) -> StoreDifference {
        StoreDifference(
            .damage,
            "\(entity.name) \(id.uuidString) cannot be taken apart in one of the stores",
            entity: entity.name,
            id: id
        )
    }

    /// Notes damage that ends the reading of an entity, and continues after it.
    private mutating func findingDamage(_ entity: Int, _ body: (inout Comparison) throws -> Void) throws {
        do {
            try body(&self)
        } catch let error as HabitStoreError where error.code == .corrupt {
            note(StoreDifference(.damage, error.message, entity: schema.entities[entity].name, id: error.location.id))
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a canonical form is that of a record, and not of something that cannot be read as one.
    fileprivate var beginsWithKey: Bool { count > 0 && self[0] == CanonicalForm.Tag.uuid.rawValue }

    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let left = baseAddress, let right = other.baseAddress else {
            return count == other.count
        }
        return memcmp(left, right, count) == 0
    }
}

/// How far the comparison of contents has come.
struct ContentsProgress: Codable {
    /// More than is ever compared.
    static let greatestCount = 1 << 47

    /// Where the digests of what was read of the entity stand, for each store that keeps digests.
    struct Tallies: Codable {
        var a: DigestTally.State?
        var b: DigestTally.State?
    }

    /// The position of the entity in the schema.
    private(set) var entity = 0
    /// The last identifier of it that was compared; nil before the first.
    var last: UUID?
    /// Records compared so far, of all entities.
    var compared = 0
    /// Where the digests of what was read stand.
    var tallies = Tallies()

    /// Whether it can be how far a comparison of a schema with so many entities has come.
    func isPlausible(entities: Int) -> Bool {
        (0...entities).contains(entity) && (0...Self.greatestCount).contains(compared)
            && tallies.a?.isPlausible ?? true && tallies.b?.isPlausible ?? true
    }

    /// The entity's identifiers that are not compared yet.
    var rest: IdentifierRange {
        guard let last else { return .all }
        return IdentifierRange(first: last.successor ?? IdentifierRange.all.last, last: IdentifierRange.all.last)
    }

    mutating func beginNextEntity() {
        entity += 1
        last = nil
        tallies = Tallies()
    }
}

/// One store's records of an entity as they come by, with the digests of what came.
struct ContentsReading {
    private let cursor: any AuditCursor
    private(set) var tally: DigestTally?
    private(set) var isAtEnd = false

    init(_ cursor: any AuditCursor, _ tally: DigestTally?) {
        self.cursor = cursor
        self.tally = tally
    }

    var identifier: UUID { cursor.identifier }

    var canonical: UnsafeRawBufferPointer { cursor.canonical }

    /// Goes to the next record.
    mutating func advance() throws {
        isAtEnd = try !cursor.next()
        if isAtEnd {
            tally?.finish()
        } else {
            tally?.add(cursor)
        }
    }
}

extension ReadTransaction {
    /// The records of an entity, read independently of the store's own transactions where it can be.
    func contents(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        if let audited = self as? any AuditableTransaction { return try audited.auditCursor(entity: entity, in: range) }
        return OwnReading(self, entity: schema.entities[entity].name, in: range)
    }

    /// The digests that the store keeps of an entity; nil when it keeps none.
    func keptDigests(of entity: Int) throws -> [DigestLeaf]? {
        try (self as? any AuditableTransaction)?.keptDigests(entity: entity)
    }
}

extension Comparison {
    /// Compares by the kept digests, and reads records only where they differ.
    ///
    /// - Returns: the number of records that the digests stand for, or that were read.
    mutating func compareKeptDigests() throws -> Int {
        var compared = 0
        for entity in schema.entities.indices {
            guard let left = try transactions.a.keptDigests(of: entity),
                let right = try transactions.b.keptDigests(of: entity)
            else {
                report.notes.append("\(schema.entities[entity].name): a store keeps no digests, so records were read")
                compared += try compareRecords(entity, in: .all)
                continue
            }
            compared += Int(max(left.count, right.count))
            guard DigestLeaf.divideAll(left), DigestLeaf.divideAll(right) else {
                for (leaves, name) in [(left, stores.a.name), (right, stores.b.name)]
                where !DigestLeaf.divideAll(leaves) {
                    note(uncovered(entity, name))
                }
                _ = try compareRecords(entity, in: .all)
                continue
            }
            for range in DigestComparison.differingRanges(left, right) {
                let before = report.differenceCount
                _ = try compareRecords(entity, in: range)
                if report.differenceCount == before { try blameDigests(entity, range, left, right) }
            }
        }
        return compared
    }

    /// The digests differ and the records do not: one of the stores was changed past its own transactions.
    private mutating func blameDigests(
        _ entity: Int,
        _ range: IdentifierRange,
        _ left: [DigestLeaf],
        _ right: [DigestLeaf]
    ) throws {
        for (leaves, transaction, name) in [
            (left, transactions.a, stores.a.name), (right, transactions.b, stores.b.name),
        ] {
            let within = leaves.filter { range.contains($0.first) }
            let cursor = try transaction.contents(entity: entity, in: range)
            var tally = DigestTally(within)
            while try cursor.next() { tally.add(cursor) }
            tally.finish()
            for deviation in tally.deviations { note(difference(deviation, entity, name)) }
        }
    }

    /// Notes where a store's kept digests do not match its records; reported as a separate level.
    mutating func noteDigests(_ tally: DigestTally?, _ name: String, _ entity: Int) {
        guard let tally else {
            digests.storesWithout.insert(name)
            return
        }
        digests.compared += tally.count
        digests.deviations += tally.deviations.map { difference($0, entity, name) }
    }

    /// - Returns: the number of digests compared.
    mutating func compareDigests() throws -> Int {
        for deviation in digests.deviations { note(deviation) }
        for (transaction, name) in [(transactions.a, stores.a.name), (transactions.b, stores.b.name)] {
            try compareCover(transaction, name)
        }
        for name in digests.storesWithout.sorted() {
            report.notCompared.append("kept digests: \(name) keeps none, or could not be read to the end")
        }
        return digests.compared
    }

    /// A store that keeps digests keeps those of all entities, and those of an entity divide all identifiers.
    private mutating func compareCover(_ transaction: any ReadTransaction, _ name: String) throws {
        let kept: [[DigestLeaf]?]
        do {
            kept = try schema.entities.indices.map { try transaction.keptDigests(of: $0) }
        } catch let error as HabitStoreError where error.code == .corrupt {
            // Told where the contents were compared, which asked for the same.
            return
        }
        guard kept.contains(where: { $0 != nil }) else { return }
        for (entity, leaves) in kept.enumerated() where leaves.map({ !DigestLeaf.divideAll($0) }) ?? true {
            note(uncovered(entity, name))
        }
    }

    private func uncovered(_ entity: Int, _ name: String) -> StoreDifference {
        let entity = schema.entities[entity].name
        return StoreDifference(
            .digest,
            "\(name): the kept digests of \(entity) do not cover all identifiers, each once: the file was changed past the store's "
                + "transactions, or damaged",
            entity: entity,
            subject: name == stores.a.name ? "A" : "B"
        )
    }

    private func difference(_ deviation: DigestTally.Deviation, _ entity: Int, _ name: String) -> StoreDifference {
        let range = deviation.leaf.range
        return StoreDifference(
            .digest,
            "\(name): the \(schema.entities[entity].name) records from \(range.first.uuidString) to "
                + "\(range.last.uuidString) are not those that the store's transactions wrote "
                + "(\(deviation.leaf.digest.count) by its digest, \(deviation.found.count) found): "
                + "the file was changed past them, or damaged",
            entity: schema.entities[entity].name,
            id: range.first,
            subject: name == stores.a.name ? "A" : "B"
        )
    }
}

/// Narrows two stores' differences down by their kept digests.
enum DigestComparison {
    /// The ranges of identifiers in which the digests differ, ascending.
    ///
    /// The leaves of the two need not be the same, but one always lies within the other: the smaller ones are added up
    /// until they fill the larger one.
    static func differingRanges(_ a: [DigestLeaf], _ b: [DigestLeaf]) -> [IdentifierRange] {
        var ranges: [IdentifierRange] = []
        var (left, right) = (a[...], b[...])
        while let first = left.first, let second = right.first {
            if first.depth <= second.depth {
                left.removeFirst()
                if take(&right, within: first) != first.digest { ranges.append(first.range) }
            } else {
                right.removeFirst()
                if take(&left, within: second) != second.digest { ranges.append(second.range) }
            }
        }
        return ranges
    }

    private static func take(_ leaves: inout ArraySlice<DigestLeaf>, within leaf: DigestLeaf) -> RecordDigest {
        let last = leaf.range.last
        var sum = RecordDigest()
        while let next = leaves.first, !last.isBefore(next.first) {
            sum += next.digest
            leaves.removeFirst()
        }
        return sum
    }
}
