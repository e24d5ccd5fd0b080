import Foundation
@_spi(Engines) import HabitStore

extension CoreDataImporter {
    /// The records that may have changed along with those in a source transaction.
    func companions(of carried: [HistoryCarrier.Carried]) throws -> [HistoryCarrier.Carried] {
        var known = Set(carried.map(\.id))
        var result: [HistoryCarrier.Carried] = []
        for item in carried {
            for rule in companionRules.rules(for: item.entity.source.number, item.change.kind) {
                for key in try keys(rule, item) {
                    guard let number = try file.entityNumber(of: key, in: rule.table),
                        let entity = plan.entity(number: number)
                    else { continue }
                    let id = try resolver.identifier(root: entity.source.root, key: key)
                    guard known.insert(id).inserted else { continue }
                    let change = CoreDataChange(number: 0, kind: .update, entity: number, key: key, tombstone: [])
                    result.append(HistoryCarrier.Carried(entity: entity, id: id, change: change))
                }
            }
        }
        return result
    }

    /// The keys of the records that refer to a record, in the source and in the target's last state.
    private func keys(_ rule: CompanionRules.Rule, _ item: HistoryCarrier.Carried) throws -> Set<Int64> {
        var keys: Set<Int64> = []
        let statement = try file.connection.prepare(rule.keys)
        try statement.bind(item.change.key, at: 1)
        while try statement.step() {
            if let key = statement.optionalInt(0) { keys.insert(key) }
        }
        let attribute = FilterExpression.attribute(AttributePath(rule.attribute))
        let id = FilterExpression.literal(.uuid(item.id))
        let entity = plan.schema.entities[rule.target]
        guard let place = entity.position(of: "coreDataKey") else { return keys }
        let filter: FilterExpression =
            rule.isLinks ? .text(.contains, attribute, id) : .compare(.equal, attribute, id)
        try target.read { transaction in
            _ = try transaction.enumerateRecords(RecordQuery(entity: entity.name, filter: filter)) { record in
                if case .int(let key) = record.values[place] { keys.insert(key) }
                return true
            }
        }
        return keys
    }
}
