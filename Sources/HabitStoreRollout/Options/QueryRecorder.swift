import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier
import Synchronization

/// Collects an app's queries, each shape once, as a file of queries that a verification can run.
///
/// Queries that differ only in their literals have one shape. Of a fetch, a count or a projection, only the filter, order and range are kept; a
/// lookup by identifier becomes a query for it. Literals are replaced by neutral ones of the same type, and the query is marked as
/// ``QueryFile/Query/redacted``, unless values are kept.
///
/// Predicates that Foundation evaluates have no text form and are left out. Limit: ``shapeLimit`` shapes.
public final class QueryRecorder: Sendable {
    /// The most shapes to keep.
    public static let shapeLimit = 1_000

    /// The file's path.
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
    ///   - keepsValues: whether to keep the literals, which may include the user's data.
    public init(path: String, keepsValues: Bool = false) {
        self.path = path
        self.keepsValues = keepsValues
    }

    /// The queries so far, in the order in which their shapes first occurred.
    public var queries: [QueryFile.Query] { state.withLock { $0.queries } }

    /// How many shapes were left out: they have no text form, or came after the limit.
    public var leftOut: Int { state.withLock { $0.leftOut } }

    // MARK: Recording

    func note(_ fetch: PreparedFetch, _ schema: Schema) {
        note(QueryShape(.rows, fetch.query)) {
            guard fetch.condition == nil else { return nil }
            // From the bound filter: in the text form, the type of a literal is ambiguous.
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
            // A count and a fetch, or a fetch of records and one of identifiers, give the same query.
            if !state.queries.contains(where: { $0.name == query.name }) { state.queries.append(query) }
        }
    }

    /// - Returns: nil if the text form cannot be read back.
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

    /// Adds the collected queries to the file; shapes that it has already stay unchanged. Replaces the file atomically; only its owner may read it.
    ///
    /// - Throws: errors of an existing file, and system errors.
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
    /// The query without its literals, as a sentence; the same for all queries of one shape.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` for an invalid filter.
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
    /// A value of the same type that reveals nothing. Booleans and nil stay, as part of the query's structure.
    fileprivate var neutral: Value {
        switch self {
        case .null, .bool: self
        // Not 0, since it may be a divisor.
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

extension QueryFile {
    /// Replaces the file atomically; only its owner may read it.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` if it cannot be written.
    func save(path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(self) + Data("\n".utf8)
        do {
            try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(
                .permissionDenied,
                "the file of queries cannot be written (\(error.reason)); check the folder's permissions and space",
                at: .init(path: path)
            )
        }
    }
}

extension FilterExpression {
    /// The text form with `?` for each literal except booleans and nil; empty without a condition.
    var withoutLiterals: String {
        guard self != .always else { return "" }
        // A string is written in quotation marks, which occur nowhere else in the text form.
        return replacingLiterals { value in
            switch value {
            case .null, .bool: value
            default: .string("?")
            }
        }.description.replacing("\"?\"", with: "?")
    }

    /// The expression with other literals. Drops values of a list that become equal.
    func replacingLiterals(_ replace: (Value) -> Value) -> FilterExpression {
        func inner(_ expression: FilterExpression) -> FilterExpression { expression.replacingLiterals(replace) }
        switch self {
        case .literal(let value): return .literal(replace(value))
        case .attribute, .exists: return self
        case .not(let part): return .not(inner(part))
        case .and(let parts): return .and(parts.map(inner))
        case .or(let parts): return .or(parts.map(inner))
        case .compare(let comparison, let left, let right): return .compare(comparison, inner(left), inner(right))
        case .isIn(let part, let values):
            var replaced: [Value] = []
            for value in values.map(replace) where !replaced.contains(value) { replaced.append(value) }
            return .isIn(inner(part), replaced)
        case .text(let test, let text, let part): return .text(test, inner(text), inner(part))
        case .some(let path, let variable, let condition): return .some(path, variable: variable, inner(condition))
        case .every(let path, let variable, let condition): return .every(path, variable: variable, inner(condition))
        case .count(let path, let variable, let condition): return .count(path, variable: variable, inner(condition))
        case .length(let part): return .length(inner(part))
        case .coalesce(let first, let second): return .coalesce(inner(first), inner(second))
        case .conditional(let test, let first, let second):
            return .conditional(inner(test), inner(first), inner(second))
        case .least(let part): return .least(inner(part))
        case .greatest(let part): return .greatest(inner(part))
        case .caseInsensitiveOrder(let left, let right): return .caseInsensitiveOrder(inner(left), inner(right))
        case .arithmetic(let operation, let left, let right): return .arithmetic(operation, inner(left), inner(right))
        }
    }
}
