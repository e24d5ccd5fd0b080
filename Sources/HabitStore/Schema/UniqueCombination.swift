import Foundation

/// A combination of attributes that no two records may have in common, as positions.
struct UniqueCombination: Sendable {
    let entity: Int
    let positions: [Int]

    /// The combination that a record has; nil where one of the attributes is nil.
    func values(of record: RecordView) throws -> [Value]? {
        var values: [Value] = []
        for position in positions {
            let value = try record.value(at: position)
            if value.isNull { return nil }
            values.append(value)
        }
        return values
    }

    /// The attributes' names, for people: `name, startDate and endDate`.
    func title(_ schema: Schema) -> String {
        let names = positions.map { schema.entities[entity].attributes[$0].name }
        guard names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
    }
}
