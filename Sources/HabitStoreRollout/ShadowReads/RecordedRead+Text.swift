@_spi(Engines) import HabitStore

extension RecordedRead.Question {
    /// The question's shape for people, without the user's data.
    func text(_ schema: Schema) -> String {
        switch self {
        case .rows(let request, _): (request.isIdentifiers ? "the identifiers of " : "") + request.text(schema)
        case .count(let request): "the count of " + request.text(schema)
        case .record(let entity, _): "\(schema.entities[entity].name) by its identifier"
        case .preparation(_, let entity): "\(entity) by a fetch that cannot be asked"
        }
    }
}

extension ReadRequest {
    var isIdentifiers: Bool { query.projection == [0] }

    /// The fetch without its literals: `Habit where streak >= ? by -streak, limited`.
    func text(_ schema: Schema) -> String {
        let entity = schema.entities[query.entity]
        var text = entity.name
        let filter = filter.withoutLiterals
        if !filter.isEmpty { text += " where \(filter)" }
        if remake != nil { text += filter.isEmpty ? " where Foundation says so" : " and where Foundation says so" }
        let order = query.order.dropLast().map { ($0.ascending ? "" : "-") + entity.attributes[$0.position].name }
        if !order.isEmpty { text += " by " + order.joined(separator: ", ") }
        if query.limit != nil { text += ", limited" }
        if query.offset > 0 { text += ", from an offset" }
        return text
    }
}
