import Foundation

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
