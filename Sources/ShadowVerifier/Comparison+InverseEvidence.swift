import Foundation
@_spi(Engines) import HabitStore

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
