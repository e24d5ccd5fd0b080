import Foundation
@_spi(Engines) import HabitStore

/// Answers queries with Foundation's `Predicate.evaluate` over arrays of models and a plain sort, without a store.
///
/// `@unchecked`: nothing changes after `init`.
final class FuzzOracle: RelationshipResolver, @unchecked Sendable {
    let schema: Schema
    private let tables: [any FuzzModels]

    /// Reads all models once.
    init(_ data: FuzzData) throws {
        schema = data.schema
        let store = try InMemoryHabitStore(schema: data.schema)
        try data.install(into: store)
        tables = try store.read { transaction in
            try data.schema.entities.map { try Self.table($0.modelType, transaction, data) }
        }
    }

    private static func table<M: PersistentModel>(
        _ type: M.Type,
        _ transaction: any ReadTransaction,
        _ data: FuzzData
    ) throws -> any FuzzModels {
        let entity = try data.schema.position(of: type)
        return FuzzTable<M>(
            try transaction.all(type),
            values: data.records[entity].map(\.values),
            referencePositions: data.schema.entities[entity].attributes.indices.filter {
                [.uuid, .links].contains(data.schema.entities[entity].attributes[$0].kind)
            }
        )
    }

    /// The models of an entity.
    func table<M: PersistentModel>(_ type: M.Type) throws -> FuzzTable<M> {
        guard let table = tables[try schema.position(of: type)] as? FuzzTable<M> else {
            throw FuzzTypeMismatch(wanted: "\(M.self)", found: "another model")
        }
        return table
    }

    /// Runs `body` with the models' relationship properties resolved through the arrays.
    func run<R>(_ body: () throws -> R) rethrows -> R {
        try RelationshipScope.withResolver(self, body)
    }

    /// The positions of a query's records, in order, or the reason why the query fails.
    func answer<M: PersistentModel>(
        _ query: FuzzQuery,
        _ predicate: Predicate<M>
    ) throws -> Result<[Int], FuzzRefusal> {
        if let limit = query.limit, limit < 0 { return .failure(FuzzRefusal(code: .invalidQuery)) }
        if query.limit == 0 { return .success([]) }
        let table = try table(M.self)
        var found: [Int] = []
        for (index, model) in table.models.enumerated() {
            do {
                if try predicate.evaluate(model) { found.append(index) }
            } catch {
                return .failure(FuzzRefusal(code: .evaluationFailed, id: model.id))
            }
        }
        found.sort { table.isBefore($0, $1, query.sort) }
        return .success(Array(found.dropFirst(max(0, query.offset)).prefix(query.limit ?? Int.max)))
    }

    // MARK: Relationships

    func record<D: PersistentModel>(_ type: D.Type, _ id: UUID) -> D? {
        guard let table = try? table(type), let index = table.positions[id] else { return nil }
        return table.models[index]
    }

    func records<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, [D]>, of owner: UUID) -> [D] {
        guard case .relationship(let entity, let position)? = schema.property(at: keyPath),
            let table = try? table(D.self)
        else { return [] }
        let indices = table.referring[schema.relationships[entity][position].attribute]?[owner] ?? []
        return indices.map { table.models[$0] }
    }
}

/// Why a query has no answer.
struct FuzzRefusal: Error, Equatable {
    let code: HabitStoreError.Code
    /// The record that could not be evaluated, the one with the lowest identifier; nil if the query itself is refused.
    var id: UUID?
}

/// The models of one entity, of any type.
protocol FuzzModels: AnyObject {}

/// The models of one entity, ascending by identifier.
final class FuzzTable<Model: PersistentModel>: FuzzModels {
    let models: [Model]
    let positions: [UUID: Int]
    /// For each attribute with references: the positions of the models that refer to an identifier.
    let referring: [Int: [UUID: [Int]]]
    private let values: [[Value]]

    init(_ models: [Model], values: [[Value]], referencePositions: [Int]) {
        self.models = models
        self.values = values
        positions = Dictionary(models.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        var referring: [Int: [UUID: [Int]]] = [:]
        for position in referencePositions {
            var indices: [UUID: [Int]] = [:]
            for (index, record) in values.enumerated() {
                switch record[position] {
                case .uuid(let id): indices[id, default: []].append(index)
                case .links(let ids): for id in ids { indices[id, default: []].append(index) }
                default: break
                }
            }
            referring[position] = indices
        }
        self.referring = referring
    }

    /// Whether one record comes before another in an order; the final key is the identifier.
    func isBefore(_ left: Int, _ right: Int, _ sort: [FuzzQuery.SortKey]) -> Bool {
        for key in sort {
            let pair = (values[left][key.position], values[right][key.position])
            if FuzzOrder.isBefore(pair.0, pair.1) { return key.isAscending }
            if FuzzOrder.isBefore(pair.1, pair.0) { return !key.isAscending }
        }
        return left < right
    }

    /// A record's values.
    func record(_ index: Int) -> [Value] { values[index] }
}

/// A second, independent implementation of the declared order of values: the expected result of sorting.
enum FuzzOrder {
    /// The value of anything that an attribute can be.
    static func value(_ any: Any) throws -> Value {
        // Computed numbers may be ones that cannot be stored.
        if let number = any as? Double { return .double(number) }
        guard let convertible = any as? any AttributeConvertible else {
            throw FuzzTypeMismatch(wanted: "a value", found: "\(any)")
        }
        return try convertible.attributeValue()
    }

    /// Whether a filter's comparison is true.
    static func holds(_ comparison: FilterExpression.Comparison, _ left: Value, _ right: Value) -> Bool {
        if left.isNull || right.isNull {
            switch comparison {
            case .equal: return left.isNull && right.isNull
            case .notEqual: return left.isNull != right.isNull
            case .less, .lessOrEqual, .greater, .greaterOrEqual: return false
            }
        }
        if case (.double(let left), .double(let right)) = (left, right), left.isNaN || right.isNaN {
            return comparison == .notEqual
        }
        switch comparison {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less: return isBefore(left, right)
        case .lessOrEqual: return !isBefore(right, left)
        case .greater: return isBefore(right, left)
        case .greaterOrEqual: return !isBefore(left, right)
        }
    }

    /// Whether one value comes before another of its kind; nil comes first.
    static func isBefore(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.null, let other): return !other.isNull
        case (_, .null): return false
        case (.bool(let a), .bool(let b)): return !a && b
        case (.int(let a), .int(let b)): return a < b
        case (.double(let a), .double(let b)): return a < b
        case (.date(let a), .date(let b)): return a < b
        case (.string(let a), .string(let b)): return a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.uuid(let a), .uuid(let b)): return isBefore(a, b)
        case (.data(let a), .data(let b)): return a.lexicographicallyPrecedes(b)
        case (.strings(let a), .strings(let b)):
            return a.lexicographicallyPrecedes(b) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        case (.links(let a), .links(let b)):
            return a.lexicographicallyPrecedes(b, by: isBefore)
        default: return false
        }
    }

    /// Whether Swift makes a range from two bounds, also once a filter has brought them into NFC: Swift orders text that is not in NFC differently,
    /// and NaN
    /// has no order.
    static func isRange(_ lower: Value, _ upper: Value) -> Bool {
        switch (lower, upper) {
        case (.string(let lower), .string(let upper)):
            lower <= upper
                && lower.precomposedStringWithCanonicalMapping <= upper.precomposedStringWithCanonicalMapping
        case (.double(let lower), .double(let upper)): lower <= upper
        case (.date(let lower), .date(let upper)): lower <= upper
        default: !isBefore(upper, lower)
        }
    }

    /// Identifiers are ordered by their bytes.
    private static func isBefore(_ left: UUID, _ right: UUID) -> Bool {
        withUnsafeBytes(of: left.uuid) { left in
            withUnsafeBytes(of: right.uuid) { right in left.lexicographicallyPrecedes(right) }
        }
    }
}
