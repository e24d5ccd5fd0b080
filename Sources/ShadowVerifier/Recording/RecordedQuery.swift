/// A query as a recording holds it.
struct RecordedQuery: Sendable, Hashable, Codable {
    let name: String
    let entity: String
    /// The filter's text; nil where there is none, and where values are not kept, since filters hold them.
    var filter: String?
    let sort: [String]
    let limit: Int?
    let offset: Int?

    init(_ query: QueryFile.Query) {
        name = query.name
        entity = query.entity
        filter = query.filter
        sort = query.sort ?? []
        limit = query.limit
        offset = query.offset
    }

    /// The query as a file of queries has it.
    var query: QueryFile.Query {
        QueryFile.Query(name: name, entity: entity, filter: filter, sort: sort, limit: limit, offset: offset)
    }
}
