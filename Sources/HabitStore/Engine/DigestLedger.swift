import Foundation

/// Keeps a store's digests up to date with what one engine transaction does to its records.
///
/// What changes is gathered and written when the transaction is about to end: each leaf once, in order.
final class DigestLedger<Writer: EngineWriter> {
    private let writer: Writer
    private let schema: Schema
    private let form = CanonicalForm()
    private var changes: [[DigestChange]]

    init(_ writer: Writer, _ schema: Schema) {
        self.writer = writer
        self.schema = schema
        changes = schema.entities.map { _ in [] }
    }

    /// Stores a record under an identifier that has none yet; false, and nothing is changed, when there is one.
    func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        guard try writer.insert(entity: entity, id: id, record: record) else { return false }
        changes[entity].append(DigestChange(id: id, digest: try digest(entity, record)))
        return true
    }

    /// Stores the records of a batch, whose identifiers differ, under identifiers that have none yet.
    ///
    /// - Returns: nil; or the place of the first record whose identifier is taken, and then the transaction must be undone.
    func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        if let taken = try writer.insert(entity: entity, batch) { return taken }
        try DigestChange.append(batch, schema.layouts[entity], form, to: &changes[entity])
        return nil
    }

    /// Replaces a record; `old` is what is stored.
    func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        var change = try digest(entity, record)
        change -= try digest(entity, old)
        try writer.update(entity: entity, id: id, record: record, replacing: old)
        changes[entity].append(DigestChange(id: id, digest: change))
    }

    /// Removes a record; `old` is what is stored.
    func delete(entity: Int, id: UUID, record old: RecordView) throws {
        var change = RecordDigest()
        change -= try digest(entity, old)
        try writer.delete(entity: entity, id: id, record: old)
        changes[entity].append(DigestChange(id: id, digest: change))
    }

    /// Notes a change that was already made to a record; nil for a record that is not there.
    func note(entity: Int, id: UUID, from old: EncodedRecord?, to new: EncodedRecord?) throws {
        var change = RecordDigest()
        let layout = schema.layouts[entity]
        if let new { change += try new.withView(layout) { try digest(entity, $0) } }
        if let old { change -= try old.withView(layout) { try digest(entity, $0) } }
        changes[entity].append(DigestChange(id: id, digest: change))
    }

    private func digest(_ entity: Int, _ record: RecordView) throws -> RecordDigest {
        try form.write(record, schema.layouts[entity])
        return RecordDigest(form.bytes)
    }

    /// Begins to maintain digests, starting with the existing records.
    func begin() throws { try begin(Array(schema.entities.indices)) }

    /// Begins to keep digests of some entities.
    func begin(_ entities: [Int]) throws {
        for entity in entities {
            try divide(.root, entity, DigestSource(cursor: try writer.auditCursor(entity: entity, in: .all)))
        }
    }

    /// Writes what has changed; the last thing that a transaction does.
    func finish() throws {
        for entity in changes.indices where !changes[entity].isEmpty {
            var sorted: [DigestChange] = []
            swap(&sorted, &changes[entity])
            sorted.sort()
            var rest = sorted[...]
            while let first = rest.first {
                // A store that an older version made keeps none; the next opening for writing begins to.
                guard let leaf = try writer.digestLeaf(entity: entity, covering: first.id) else { break }
                let last = leaf.range.last
                let end = rest.firstIndex { last.isBefore($0.id) } ?? rest.endIndex
                try apply(rest[..<end], to: leaf, entity)
                rest = rest[end...]
            }
        }
    }

    private func apply(_ changes: ArraySlice<DigestChange>, to leaf: DigestLeaf, _ entity: Int) throws {
        var changed = leaf
        for change in changes { changed.digest += change.digest }
        guard changed.digest.count > DigestLeaf.maximumCount, leaf.depth < DigestLeaf.maximumDepth else {
            return try writer.setDigestLeaf(entity: entity, changed)
        }
        if leaf.digest == RecordDigest() { return try divide(changed, entity, changes) }
        try divide(leaf, entity, DigestSource(cursor: try writer.auditCursor(entity: entity, in: leaf.range)))
    }

    /// Divides a leaf that was empty before by the changes alone: they are all of its records.
    private func divide(_ leaf: DigestLeaf, _ entity: Int, _ changes: ArraySlice<DigestChange>) throws {
        var rest = changes
        for var child in leaf.children {
            let last = child.range.last
            let end = rest.firstIndex { last.isBefore($0.id) } ?? rest.endIndex
            for change in rest[..<end] { child.digest += change.digest }
            if child.digest.count > DigestLeaf.maximumCount, child.depth < DigestLeaf.maximumDepth {
                try divide(child, entity, rest[..<end])
            } else {
                try writer.setDigestLeaf(entity: entity, child)
            }
            rest = rest[end...]
        }
    }

    /// Writes the leaves of a range from its records. No more records are held than one leaf has.
    private func divide(_ leaf: DigestLeaf, _ entity: Int, _ source: DigestSource) throws {
        if let digest = try source.take(leaf.range) {
            return try writer.setDigestLeaf(
                entity: entity,
                DigestLeaf(first: leaf.first, depth: leaf.depth, digest: digest)
            )
        }
        for child in leaf.children { try divide(child, entity, source) }
    }
}

/// The digests of records that a cursor gives, for leaves whose size is not known before.
private final class DigestSource {
    private let cursor: any AuditCursor
    private var waiting: [(id: UUID, digest: RecordDigest)] = []
    private var isAtEnd = false

    init(cursor: any AuditCursor) { self.cursor = cursor }

    /// The digest of the records up to a range's end; nil, and they wait for smaller ranges, when they are too many for
    /// a leaf.
    func take(_ range: IdentifierRange) throws -> RecordDigest? {
        while !isAtEnd, waiting.count <= DigestLeaf.maximumCount, waiting.last.map({ range.contains($0.id) }) ?? true {
            guard try cursor.next() else {
                isAtEnd = true
                break
            }
            waiting.append((cursor.identifier, RecordDigest(cursor.canonical)))
        }
        let end = waiting.firstIndex { !range.contains($0.id) } ?? waiting.endIndex
        if end > DigestLeaf.maximumCount, range.first != range.last { return nil }
        var digest = RecordDigest()
        for record in waiting[..<end] { digest += record.digest }
        waiting.removeFirst(end)
        return digest
    }
}

/// What one change of a record adds to its leaf's digest.
struct DigestChange: Comparable {
    let id: UUID
    let digest: RecordDigest

    /// In the order of the identifiers.
    static func < (left: DigestChange, right: DigestChange) -> Bool { left.id.words < right.id.words }

    /// Appends the changes for a batch of new records, in the order of their identifiers, in which they are needed.
    static func append(
        _ batch: RecordBatch,
        _ layout: RecordLayout,
        _ form: CanonicalForm,
        to changes: inout [DigestChange]
    ) throws {
        for place in batch.placesByIdentifier {
            try form.write(batch[place], layout)
            changes.append(DigestChange(id: batch.identifier(at: place), digest: RecordDigest(form.bytes)))
        }
    }
}

/// Adds up what is read of an entity, and holds it against the digests that the store has kept.
@_spi(Engines) public struct DigestTally {
    /// A kept digest that is not that of the records in its range.
    public struct Deviation: Sendable, Codable {
        /// The stored digest.
        public let leaf: DigestLeaf
        /// The digest of the records that were found.
        public let found: RecordDigest
    }

    /// How far it has come: without the kept digests, which the store has.
    public struct State: Codable {
        fileprivate var place = 0
        fileprivate var found = RecordDigest()
        fileprivate var deviations: [Deviation] = []

        /// Before the first record.
        public init() {}

        /// Whether it can be a state; one that was read from a file need not be.
        package var isPlausible: Bool { place >= 0 }
    }

    private let leaves: [DigestLeaf]
    /// How far it has come.
    public private(set) var state: State
    /// The last identifier of the range that is being added up, as two numbers of the same order.
    private var last: (UInt64, UInt64)

    /// Begins or continues a tally.
    ///
    /// - Parameters:
    ///   - leaves: the stored digests, ascending.
    ///   - state: the state of an earlier run with them.
    public init(_ leaves: [DigestLeaf], _ state: State = State()) {
        self.leaves = leaves
        self.state = state
        last = Self.last(leaves, state.place)
    }

    private static func last(_ leaves: [DigestLeaf], _ place: Int) -> (UInt64, UInt64) {
        place < leaves.count ? leaves[place].range.last.words : (.max, .max)
    }

    /// The number of kept digests.
    public var count: Int { leaves.count }

    /// The kept digests, so far, that are not those of their records.
    public var deviations: [Deviation] { state.deviations }

    /// Adds the record that a cursor stands on; they come ascending.
    public mutating func add(_ cursor: any AuditCursor) {
        let canonical = cursor.canonical
        let id: (UInt64, UInt64)
        if canonical.count >= 17, canonical[0] == CanonicalForm.Tag.uuid.rawValue {
            id = (
                UInt64(bigEndian: canonical.loadUnaligned(fromByteOffset: 1, as: UInt64.self)),
                UInt64(bigEndian: canonical.loadUnaligned(fromByteOffset: 9, as: UInt64.self))
            )
        } else {
            id = cursor.identifier.words
        }
        while last < id, state.place < leaves.count { close() }
        state.found += RecordDigest(canonical)
    }

    /// Closes the remaining leaves, after the last record.
    public mutating func finish() {
        while state.place < leaves.count { close() }
    }

    private mutating func close() {
        let leaf = leaves[state.place]
        if leaf.digest != state.found { state.deviations.append(Deviation(leaf: leaf, found: state.found)) }
        state.found = RecordDigest()
        state.place += 1
        last = Self.last(leaves, state.place)
    }
}

@_spi(Engines) extension EngineBackedStore {
    /// Holds the digests that the store keeps against its records, as they are in the file.
    public func checkDigests() throws -> [StoreFinding] {
        try core.engine.read { snapshot in
            try core.requireUnmigrated(snapshot)
            var findings: [StoreFinding] = []
            let kept = try schema.entities.indices.map { try snapshot.digestLeaves(entity: $0) }
            for (leaves, entity) in zip(kept, schema.entities)
            where leaves.map({ !DigestLeaf.divideAll($0) }) ?? kept.contains(where: { $0 != nil }) {
                findings.append(
                    StoreFinding(
                        .damage,
                        "digestMissing",
                        "the kept digests of \(entity.name) do not cover all identifiers, each once: the file was changed past "
                            + "the store's transactions, or damaged",
                        entity: entity.name
                    )
                )
            }
            for (position, entity) in schema.entities.enumerated() {
                guard let leaves = kept[position] else { continue }
                var tally = DigestTally(leaves)
                let cursor = try snapshot.auditCursor(entity: position, in: .all)
                while try cursor.next() { tally.add(cursor) }
                tally.finish()
                findings += tally.deviations.map { finding($0, entity) }
            }
            return findings
        }
    }

    private func finding(_ deviation: DigestTally.Deviation, _ entity: EntityDescription) -> StoreFinding {
        let range = deviation.leaf.range
        return StoreFinding(
            .damage,
            "digestDeviates",
            "\(deviation.leaf.digest.count) \(entity.name) records were written from \(range.first.uuidString) to "
                + "\(range.last.uuidString), and those found there (\(deviation.found.count)) are not the same: the file was "
                + "changed past the store's transactions, or damaged",
            entity: entity.name,
            id: range.first
        )
    }

    /// Rebuilds the store's digests from its records, once these are known to be intact.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if the records cannot be read; the digests are unchanged then.
    public func rebuildDigests() throws {
        try core.engine.write { writer in
            try core.requireUnmigrated(writer)
            for entity in schema.entities.indices { try writer.removeDigestLeaves(entity: entity) }
            try DigestLedger(writer, schema).begin()
        }
    }
}
