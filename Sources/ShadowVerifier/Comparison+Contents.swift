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
