import Foundation
@_spi(Engines) import HabitStore
import Hashing

extension Comparison {
    /// Takes down the listed differences, while the transactions in which they were found still stand.
    mutating func record(with recorder: MismatchRecorder) {
        let key = options.showsValues ? nil : SymmetricKey(size: .bits256)
        let inverse = inverseEvidence()
        for difference in report.differences {
            if let evidence = inverse[difference.differenceID] {
                recorder.add(RecordedMismatch(difference: difference, evidence: evidence))
                continue
            }
            recorder.add(RecordedMismatch(difference: difference, evidence: evidence(of: difference, key)))
        }
    }

    private func evidence(of difference: StoreDifference, _ key: SymmetricKey?) -> MismatchEvidence {
        if let observed = evidence[difference.differenceID] { return observed }
        switch difference.kind {
        case .count:
            guard let entity = difference.entity else { break }
            return .counts(a: report.a.counts[entity] ?? 0, b: report.b.counts[entity] ?? 0)
        case .attribute, .missingInA, .missingInB, .queryRecords:
            guard let entity = difference.entity, let id = difference.id else { break }
            return .records(
                a: record(transactions.a, entity, id, key),
                b: record(transactions.b, entity, id, key)
            )
        default: break
        }
        return .statement("what it was seen in is not recorded, and only the stores can be asked again")
    }

    private func record(
        _ transaction: any ReadTransaction,
        _ entity: String,
        _ id: UUID,
        _ key: SymmetricKey?
    ) -> RecordedRecord {
        do {
            let position = try schema.position(ofEntity: entity)
            let cursor = try transaction.contents(entity: position, in: IdentifierRange(first: id, last: id))
            guard try cursor.next() else { return RecordedRecord(attributes: nil) }
            var reader = CanonicalReader(cursor.canonical)
            var attributes: [RecordedAttribute] = []
            for attribute in schema.entities[position].attributes {
                guard let part = try reader.next() else { break }
                let shown = part.value.map(shown) ?? "no \(attribute.kind.rawValue)"
                attributes.append(RecordedAttribute(name: attribute.name, part, shown: shown, key: key))
            }
            return RecordedRecord(attributes: attributes)
        } catch let error as HabitStoreError {
            return RecordedRecord(error)
        } catch {
            return RecordedRecord(HabitStoreError(.inputOutput, "the record cannot be read", underlying: error))
        }
    }
}
