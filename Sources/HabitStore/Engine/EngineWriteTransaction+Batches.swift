import Foundation

/// Many records in one call: checked and encoded in the caller's order, and stored in the engine's.
extension EngineWriteTransaction {
    /// How many records are taken up between two calls of `progress`.
    private static var progressStep: Int { 1_024 }

    func insert<M: PersistentModel>(contentsOf models: [M], progress: (Int) throws -> Void) throws {
        try requireOpen()
        do {
            let entity = try position(of: M.self)
            if Writer.waitsForAnswers || !hasUniqueValues(entity) {
                try insertBatches(models, entity, progress)
            } else {
                // Each record must be checked separately for a value that is taken.
                for (place, model) in models.enumerated() {
                    try insert(model)
                    if (place + 1).isMultiple(of: Self.progressStep) { try progress(place + 1) }
                }
            }
            try progress(models.count)
        } catch {
            // Some of the records may be stored by now.
            failure = failure ?? error
            throw error
        }
    }

    private func hasUniqueValues(_ entity: Int) -> Bool {
        !schema.uniquePositions[entity].isEmpty || !schema.uniqueCombinations[entity].isEmpty
    }

    private func insertBatches<M: PersistentModel>(
        _ models: [M],
        _ entity: Int,
        _ progress: (Int) throws -> Void
    ) throws {
        let batch = RecordBatch(schema.layouts[entity])
        var taken = 0
        for model in models {
            do {
                try withEncoded(model, entity) { record in
                    try requireIdentifier(of: model, record, entity)
                    batch.append(record)
                }
            } catch {
                // An error in an earlier record comes first.
                try store(batch, entity)
                throw error
            }
            taken += 1
            if taken.isMultiple(of: Self.progressStep) { try progress(taken) }
            guard batch.isFull else { continue }
            try store(batch, entity)
            batch.removeAll()
        }
        try store(batch, entity)
    }

    private func requireIdentifier(of model: some PersistentModel, _ record: RecordView, _ entity: Int) throws {
        let id = model.id
        guard try record.identifier() != id else { return }
        throw HabitStoreError(
            .internalInconsistency,
            "a record was to be stored under an identifier other than its own",
            at: .init(entity: schema.entities[entity].name, id: id)
        )
    }

    private func store(_ batch: RecordBatch, _ entity: Int) throws {
        guard !batch.isEmpty else { return }
        if Writer.waitsForAnswers { try expect(batch, entity) }
        guard !hasUniqueValues(entity) else {
            for place in 0..<batch.count { try insert(entity, batch.identifier(at: place), batch[place]) }
            return
        }
        if let repeated = batch.firstRepeated {
            let known = try (0..<repeated).first { place in
                try exists(RecordKey(entity: entity, id: batch.identifier(at: place)))
            }
            throw uniqueViolation(entity, attribute: 0, takenBy: batch.identifier(at: known ?? repeated))
        }
        if let place = try ledger.insert(entity: entity, batch) {
            throw uniqueViolation(entity, attribute: 0, takenBy: batch.identifier(at: place))
        }
        try references.note(batch, by: schema.storedReferences[entity])
        changes.noteInsertions(entity, batch, schema.layouts[entity])
    }
}

/// The questions that storing records of one entity will ask.
@_spi(Engines) public struct ExpectedQuestions {
    /// The entity of the records.
    public let entity: Int
    /// The records: whether there are some under their identifiers, and the digests that they belong to.
    public let records: RecordBatch
    /// The attributes whose values must be unique, alone or together: which records have those of these records.
    public let unique: [[Int]]
    /// The referenced records, by entity: whether they exist.
    public let targets: [Int: [UUID]]
}

extension EngineWriteTransaction {
    /// Tells the engine what is going to be asked about a record.
    func expect(_ record: RecordView, _ entity: Int) throws {
        let batch = RecordBatch(schema.layouts[entity])
        batch.append(record)
        try expect(batch, entity)
    }

    /// Tells the engine what is going to be asked about the records of a batch.
    func expect(_ batch: RecordBatch, _ entity: Int) throws {
        var targets = ReferenceTargets()
        try targets.note(batch, by: schema.storedReferences[entity])
        try snapshot.expect(
            ExpectedQuestions(
                entity: entity,
                records: batch,
                unique: schema.uniquePositions[entity].map { [$0] }
                    + schema.uniqueCombinations[entity].map(\.positions),
                targets: Dictionary(grouping: targets.all, by: \.entity).mapValues { $0.map(\.id) }
            )
        )
    }
}

/// What references that a transaction has set lead to.
///
/// It stands outside of the generic transactions that use it: sets of a type inside of one are not specialised.
struct ReferenceTargets {
    private(set) var all: Set<RecordKey> = []
    /// Some that were noted lately, each in a place that follows from it: most records of a load refer to the same few. Empty
    /// until there is a batch, since a write of one record has no use for it.
    private var recent: [RecordKey?] = []

    mutating func note(_ record: RecordView, since old: RecordView?, by references: [StoredReference]) throws {
        for reference in references {
            try reference.forEachNewTarget(of: record, since: old) {
                note(RecordKey(entity: reference.destination, id: $0))
            }
        }
    }

    /// Notes what all records of a batch refer to.
    mutating func note(_ batch: RecordBatch, by references: [StoredReference]) throws {
        guard !references.isEmpty else { return }
        if recent.isEmpty { recent = [RecordKey?](repeating: nil, count: 256) }
        for place in 0..<batch.count { try note(batch[place], since: nil, by: references) }
    }

    private mutating func note(_ key: RecordKey) {
        guard !recent.isEmpty else {
            all.insert(key)
            return
        }
        let (high, low) = key.id.words
        let mixed = (high ^ low) &* 0x9E37_79B9_7F4A_7C15
        let place = Int(truncatingIfNeeded: mixed &>> 56)
        guard recent[place] != key else { return }
        recent[place] = key
        all.insert(key)
    }
}

/// The effects of a deletion under the delete rules.
struct Deletion {
    /// The records to delete, each after the one whose deletion causes its own.
    var records: [RecordKey] = []
    var doomed: Set<RecordKey> = []
    /// References into doomed records that become nil or lose a link.
    var released: [(source: RecordKey, attribute: Int, target: UUID)] = []
    /// References into doomed records by which a rule forbids the deletion, unless their record goes too.
    var denying: [(source: RecordKey, target: RecordKey)] = []
    /// References of doomed records by which a rule forbids the deletion, unless what they lead to goes too.
    var holding: [(source: RecordKey, relationship: String, target: RecordKey)] = []

    mutating func add(_ key: RecordKey) {
        if doomed.insert(key).inserted { records.append(key) }
    }
}
