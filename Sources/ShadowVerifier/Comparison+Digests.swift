import Foundation
@_spi(Engines) import HabitStore

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
