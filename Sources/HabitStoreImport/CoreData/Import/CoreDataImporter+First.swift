import Foundation
@_spi(Engines) import HabitStore

extension CoreDataImporter {
    /// Imports everything into an empty target.
    ///
    /// Records come first, in batches that leave no trace in the target's history. No reader is served from the target until the last
    /// transaction, which adds the history and the position; an interrupted import starts again from the beginning.
    func importFirst(_ progress: (Int, Int) throws -> Void) throws {
        if options.requiresHistory, file.history == nil { throw withoutHistory() }
        report.mode = .first
        var filling = try FillingAnEmptyStore(target)
        let total = report.entities.reduce(0) { $0 + $1.records }
        var untold: [Int: SpilledIdentifiers] = [:]
        var batch: FillingAnEmptyStore.Batch = []
        var done = 0
        for entity in plan.entities {
            guard let maker = makers[entity.source.number] else { continue }
            var told = try ToldKeys(file, root: entity.source.root)
            let ids = untold[entity.target] ?? SpilledIdentifiers()
            untold[entity.target] = ids
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                try account(made, of: entity.source)
                if let record = made.record {
                    batch.append((entity.target, made.id, record))
                    report.note(entity.source.name) { $0.inserted += 1 }
                    if try !told.contains(row.key) { try ids.append(made.id) }
                }
                done += 1
                if batch.count >= FillingAnEmptyStore.batch {
                    try attachment?.flush()
                    try filling.put(batch)
                    batch = []
                    try progress(done, total)
                }
                return true
            }
        }
        let position = SourcePosition(file, identities: plan.identities)
        try attachment?.flush()
        try filling.finish(batch) { transaction in
            try write(position, to: transaction)
            let source = plan.source.map {
                HistoryChange(entity: plan.schema.entities[$0].name, id: position.id, kind: .insert)
            }
            try FillingAnEmptyStore.tell(
                untold,
                and: [source].compactMap { $0 },
                author: options.author,
                at: options.now(),
                plan.schema,
                transaction
            )
            try carryHistory(transaction)
            try attachment?.flush()
            try progress(total, total)
        }
        try options.didCommit?(position.transaction)
    }

    private func withoutHistory() -> HabitStoreError {
        HabitStoreError(
            .unsupported,
            "the file has no persistent history that shows what is changed or deleted; it can be imported, but not followed",
            at: .init(path: file.path)
        )
    }

    /// Appends a transaction made by the import itself.
    func append(_ changes: [HistoryChange], to transaction: any ReplicaTransaction) throws {
        guard !changes.isEmpty else { return }
        try transaction.append(
            HistoryTransaction(
                token: try transaction.nextToken(),
                timestamp: options.now(),
                author: options.author,
                changes: changes
            )
        )
    }

    private func carryHistory(_ transaction: any ReplicaTransaction) throws {
        try file.enumerateHistory { source, changes in
            let carried = try carrier.carried(changes) { _, _ in nil }
            try append(source, carried.map { carrier.change($0) }, to: transaction)
            return true
        }
    }

    func append(
        _ source: CoreDataTransaction,
        _ changes: [HistoryChange],
        to transaction: any ReplicaTransaction
    ) throws {
        let net = HistoryCarrier.net(changes)
        if source.author?.isReplacedByNFC == true {
            report.replacedTexts += 1
            try attachment?.add(ImportedTransaction(source, [], file.model))
        }
        try transaction.append(
            HistoryTransaction(
                token: try transaction.nextToken(),
                timestamp: source.timestamp,
                author: source.author,
                changes: net
            )
        )
        report.transactions += 1
        report.changes += net.count
        report.tombstones += net.filter { if case .delete = $0.kind { true } else { false } }.count
    }
}

extension ReplicaTransaction {
    func nextToken() throws -> HistoryToken { HistoryToken(rawValue: try information().token.rawValue + 1) }
}
