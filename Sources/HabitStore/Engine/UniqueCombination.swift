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

    /// Another record that has these values.
    func record(with values: [Value], besides id: UUID, _ snapshot: some EngineSnapshot, _ schema: Schema) throws
        -> UUID?
    {
        let attributes = schema.entities[entity].attributes
        let terms = zip(positions, values).map { position, value in
            BoundExpression.compare(.equal, .rootAttribute(position, attributes[position]), .literal(value))
        }
        var other: UUID?
        let query = BoundQuery(entity: entity, filter: .and(terms), limit: 2, projection: [0])
        try QueryRunner(snapshot, schema).run(query) { row in
            let found = try row.identifier()
            if found != id { other = found }
            return other == nil
        }
        return other
    }

    /// The attributes' names, for people: `name, startDate and endDate`.
    func title(_ schema: Schema) -> String {
        let names = positions.map { schema.entities[entity].attributes[$0].name }
        guard names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
    }
}
