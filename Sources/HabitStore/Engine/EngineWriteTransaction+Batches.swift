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
