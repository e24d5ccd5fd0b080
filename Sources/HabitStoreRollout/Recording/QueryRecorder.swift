import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier
import Synchronization

/// Gathers what an app asks of its store, each shape once, as a file of queries that a verification can run.
///
/// Questions that differ in nothing but their literals have one shape. Of a fetch, a count and a projection only the records
/// are kept that they are about; the record of an identifier becomes a query by it. The literals are replaced by neutral
/// ones of their kinds, and the query is marked as ``QueryFile/Query/redacted``, unless values are to be kept.
///
/// Left out is what no text can say: predicates that Foundation evaluates. Limit: ``shapeLimit`` shapes.
public final class QueryRecorder: Sendable {
    /// How many shapes are kept.
    public static let shapeLimit = 1_000

    /// The file.
    public let path: String
    private let keepsValues: Bool

    private struct State {
        var seen: Set<QueryShape> = []
        var queries: [QueryFile.Query] = []
        var leftOut = 0
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: the file that ``save()`` writes.
    ///   - keepsValues: whether the literals are kept, the user's words among them.
    public init(path: String, keepsValues: Bool = false) {
        self.path = path
        self.keepsValues = keepsValues
    }

    /// What was gathered so far, in the order in which it was asked first.
    public var queries: [QueryFile.Query] { state.withLock { $0.queries } }

    /// How many shapes were left out: they have no text, or came too late.
    public var leftOut: Int { state.withLock { $0.leftOut } }

    // MARK: Noting

    func note(_ fetch: PreparedFetch, _ schema: Schema) {
        note(QueryShape(.rows, fetch.query)) {
            guard fetch.condition == nil else { return nil }
            // As it was bound: text leaves open of which kind a literal is.
            let filter = FilterExpression(fetch.query.filter, schema: schema, entity: fetch.query.entity)
            return query(fetch.query, filter, schema)
        }
    }

    func note(entity: Int, id: UUID, _ schema: Schema) {
        note(QueryShape(.record, entity: entity)) {
            let filter = FilterExpression.compare(.equal, .attribute(AttributePath("id")), .literal(.uuid(id)))
            return query(BoundQuery(entity: entity), filter, schema)
        }
    }

    private func note(_ shape: QueryShape, _ make: () -> QueryFile.Query?) {
        state.withLock { state in
            guard state.seen.count < Self.shapeLimit * 2, state.seen.insert(shape).inserted else { return }
            guard let query = make(), state.queries.count < Self.shapeLimit else {
                state.leftOut += 1
                return
            }
            // A count and a fetch, or a fetch and its identifiers, come to one.
            if !state.queries.contains(where: { $0.name == query.name }) { state.queries.append(query) }
        }
    }

    /// - Returns: nil where the text form would not be read back.
    private func query(_ bound: BoundQuery, _ filter: FilterExpression, _ schema: Schema) -> QueryFile.Query? {
        let attributes = schema.entities[bound.entity].attributes
        var order = bound.order.map { ($0.ascending ? "" : "-") + attributes[$0.position].name }
        if order.last == "id" { order.removeLast() }
        let kept = keepsValues ? filter : filter.replacingLiterals(\.neutral)
        var query = QueryFile.Query(
            name: "",
            entity: schema.entities[bound.entity].name,
            filter: kept == .always ? nil : kept.description,
            sort: order.isEmpty ? nil : order,
            limit: bound.limit,
            offset: bound.offset == 0 ? nil : bound.offset,
            redacted: keepsValues || kept == filter ? nil : true
        )
        guard let shape = try? query.shape() else { return nil }
        query.name = shape
        return query
    }

    // MARK: Saving

    /// Adds what was gathered to the file: shapes that it has already stay as they are. The file is replaced as a whole, and
    /// only its owner may read it.
    ///
    /// - Throws: what is wrong with a file that is there, and what the system refuses.
    public func save() throws {
        var file = QueryFile(queries: [])
        if FileManager.default.fileExists(atPath: path) { file = try QueryFile.load(path: path) }
        var shapes = Set(try file.queries.map { try $0.shape() })
        var names = Set(file.queries.map(\.name))
        for query in queries where shapes.insert(query.name).inserted && names.insert(query.name).inserted {
            file.queries.append(query)
        }
        try file.save(path: path)
    }
}

extension QueryFile.Query {
    /// What is asked without its literals, as a sentence; queries of one shape have the same.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` for a filter that cannot be read.
    public func shape() throws -> String {
        let query = try recordQuery()
        let filter = query.filter.withoutLiterals
        var text = entity + (filter.isEmpty ? "" : " where \(filter)")
        if let sort, !sort.isEmpty { text += " by \(sort.joined(separator: ", "))" }
        if limit != nil { text += ", limited" }
        if query.offset > 0 { text += ", from an offset" }
        return text
    }
}

extension Value {
    /// A value of the same kind that tells nothing. Truth values and nil stay: they are the question's structure.
    fileprivate var neutral: Value {
        switch self {
        case .null, .bool: self
        // Not 0, which arithmetic may be asked to divide by.
        case .int: .int(1)
        case .double: .double(1)
        case .string: .string("x")
        case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
        case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        case .data: .data(Data())
        case .strings: .strings(["x"])
        case .links: .links([])
        }
    }
}
