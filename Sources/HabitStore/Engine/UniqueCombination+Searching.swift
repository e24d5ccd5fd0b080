import Foundation

extension UniqueCombination {
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
}
