import Foundation
import HabitStore

/// A query of a fuzz run.
struct FuzzQuery: Hashable, Sendable {
    /// The kind of question.
    enum Question: Hashable, Sendable {
        case fetch, count, identifiers
        /// The records without their Swift type; only with a filter.
        case records
        /// Some attributes.
        case project([Int])
        /// Pages of a size, each with the cursor of the previous one.
        case pages(size: Int)
    }

    /// The form of the condition.
    enum Form: Hashable, Sendable {
        /// As a Foundation predicate, with or without erased types.
        case predicate(isErased: Bool)
        /// As a filter expression.
        case filter
        /// As a filter composed of alternating predicates and expressions.
        case composed
    }

    /// One key of the order.
    struct SortKey: Hashable, Sendable {
        let position: Int
        let isAscending: Bool
    }

    let entity: Int
    var condition: FuzzExpression
    var form: Form
    var sort: [SortKey] = []
    var limit: Int?
    var offset = 0
    var question = Question.fetch
}

/// A prepared query and its expected answer.
protocol FuzzAsking {
    var query: FuzzQuery { get }
    var expected: FuzzAnswer { get }
    /// Asks a store.
    func ask(_ transaction: any ReadTransaction) -> FuzzAnswer
    /// How a store would answer.
    func explain(_ transaction: any ReadTransaction) throws -> QueryExplanation
}

/// A query for a model.
struct FuzzQuestion<Model: PersistentModel>: FuzzAsking {
    let query: FuzzQuery
    let expected: FuzzAnswer
    private let descriptor: FetchDescriptor<Model>
    private let recordQuery: RecordQuery?
    private let models: [Model]
    private let records: [[Value]]

    /// Answers the query with Foundation.
    init(_ query: FuzzQuery, _ type: Model.Type, _ oracle: FuzzOracle) throws {
        self.query = query
        let schema = oracle.schema
        let maker = FuzzPredicateMaker(schema: schema, erases: true, isGuarded: true)
        // A filter's constants are in NFC; a predicate's are unchanged, which makes a difference to Foundation's search.
        let isPredicate = query.form == .predicate(isErased: true) || query.form == .predicate(isErased: false)
        let predicate = try maker.predicate(isPredicate ? query.condition : query.condition.normalized, type)
        let table = try oracle.table(type)
        switch try oracle.answer(query, predicate) {
        case .success(let positions):
            models = positions.map { table.models[$0] }
            records = query.question == .records ? positions.map { table.record($0) } : []
            expected = query.question == .count ? .count(positions.count) : .records(models.map(\.id))
        case .failure(let failure):
            (models, records) = ([], [])
            expected = .failure(
                code: failure.code.rawValue,
                entity: schema.entities[query.entity].name,
                id: failure.id
            )
        }
        var descriptor = FetchDescriptor<Model>(fetchLimit: query.limit, fetchOffset: query.offset)
        var recordQuery: RecordQuery?
        // The stores' predicates are not guarded: they have to notice themselves where Swift would end the process.
        let plain = FuzzPredicateMaker(
            schema: schema,
            erases: query.form != .predicate(isErased: false),
            isGuarded: false
        )
        var expression = FilterExpression.always
        switch query.form {
        case .predicate: descriptor.predicate = try plain.predicate(query.condition, type)
        case .composed:
            var turn = query.condition.size
            descriptor.filter = try Self.composed(query.condition.normalized, plain, &turn)
        case .filter:
            guard let filter = query.condition.filter(schema) else {
                throw FuzzTypeMismatch(wanted: "a condition that filters can say", found: "\(query.condition)")
            }
            expression = filter
            descriptor.filter = .expression(filter)
        }
        if query.question == .records {
            recordQuery = RecordQuery(
                entity: schema.entities[query.entity].name,
                filter: expression,
                sort: query.sort.map {
                    .init(schema.entities[query.entity].attributes[$0.position].name, ascending: $0.isAscending)
                },
                limit: query.limit,
                offset: query.offset
            )
        } else {
            descriptor.sortBy = try query.sort.map { key in
                try Self.sortDescriptor(schema.entities[query.entity].attributes[key.position], key.isAscending)
            }
        }
        self.descriptor = descriptor
        self.recordQuery = recordQuery
    }

    /// The filter with the structure of the condition, composed of predicates and expressions.
    private static func composed(
        _ condition: FuzzExpression,
        _ maker: FuzzPredicateMaker,
        _ turn: inout Int
    ) throws -> Filter<Model> {
        turn += 1
        switch condition {
        case .operation(.and, let parts, _): return .all(try parts.map { try composed($0, maker, &turn) })
        case .operation(.or, let parts, _): return .any(try parts.map { try composed($0, maker, &turn) })
        case .operation(.not, let parts, _): return !(try composed(parts[0], maker, &turn))
        default: break
        }
        if turn % 2 == 0, let expression = condition.filter(maker.schema) { return .expression(expression) }
        return .predicate(try maker.predicate(condition, Model.self))
    }

    private static func sortDescriptor(_ attribute: AttributeDescription, _ isAscending: Bool) throws -> SortDescriptor<
        Model
    > {
        func make<V: Comparable>(_ type: V.Type) -> SortDescriptor<Model>? {
            let order = isAscending ? SortOrder.forward : .reverse
            if let keyPath = attribute.keyPath as? KeyPath<Model, V> {
                return SortDescriptor(unsafeBitCast(keyPath, to: (any KeyPath<Model, V> & Sendable).self), order: order)
            }
            if let keyPath = attribute.keyPath as? KeyPath<Model, V?> {
                return SortDescriptor(
                    unsafeBitCast(keyPath, to: (any KeyPath<Model, V?> & Sendable).self),
                    order: order
                )
            }
            return nil
        }
        guard let type = FuzzType(attribute)?.scalar?.type as? any Comparable.Type, let descriptor = make(type) else {
            throw FuzzTypeMismatch(wanted: "an attribute to sort by", found: attribute.name)
        }
        return descriptor
    }

    // MARK: Asking

    func ask(_ transaction: any ReadTransaction) -> FuzzAnswer {
        FuzzAnswer {
            switch query.question {
            case .fetch: return compared(try transaction.fetch(descriptor))
            case .count: return .count(try transaction.fetchCount(descriptor))
            case .identifiers: return .records(try transaction.fetchIdentifiers(descriptor))
            case .pages(let size): return compared(try pages(transaction, size))
            case .project(let positions): return try project(transaction, positions)
            case .records:
                guard let recordQuery else { return .count(-1) }
                let found = try transaction.records(recordQuery)
                let ids = found.map(\.id)
                return ids == models.map(\.id) && found.map(\.values) != records ? .altered(ids) : .records(ids)
            }
        }
    }

    private func compared(_ found: [Model]) -> FuzzAnswer {
        if found == models { return .records(models.map(\.id)) }
        let ids = found.map(\.id)
        return ids == models.map(\.id) ? .altered(ids) : .records(ids)
    }

    private func pages(_ transaction: any ReadTransaction, _ size: Int) throws -> [Model] {
        var descriptor = descriptor
        var found: [Model] = []
        repeat {
            let page = try transaction.fetchPage(descriptor, size: size)
            found += page.models
            descriptor.cursor = page.next
        } while descriptor.cursor != nil && found.count <= models.count
        return found
    }

    private func project(_ transaction: any ReadTransaction, _ positions: [Int]) throws -> FuzzAnswer {
        let attributes = Model.entity.attributes
        let keyPaths = positions.compactMap { attributes[$0].keyPath as? PartialKeyPath<Model> }
        let found = try transaction.project(descriptor, keyPaths)
        let ids = found.map(\.id)
        guard ids == models.map(\.id) else { return .records(ids) }
        for position in positions {
            func isEqual<V: FuzzValue>(_ type: V.Type) -> Bool {
                guard let keyPath = attributes[position].keyPath as? KeyPath<Model, V> else { return true }
                return zip(found, models).allSatisfy { $0[keyPath] == $1[keyPath: keyPath] }
            }
            let type = Swift.type(of: attributes[position].keyPath as AnyKeyPath).valueType as? any FuzzValue.Type
            if let type, !isEqual(type) { return .altered(ids) }
        }
        return .records(ids)
    }

    func explain(_ transaction: any ReadTransaction) throws -> QueryExplanation {
        try recordQuery.map { try transaction.explain($0) } ?? transaction.explain(descriptor)
    }
}

extension FuzzQuery {
    /// Answers the query with Foundation. The oracle must be running.
    func question(_ oracle: FuzzOracle) throws -> any FuzzAsking {
        func make<M: PersistentModel>(_ type: M.Type) throws -> any FuzzAsking { try FuzzQuestion(self, type, oracle) }
        return try make(oracle.schema.entities[entity].modelType)
    }
}

/// The answer of a store or of Foundation to a query.
enum FuzzAnswer: Equatable, Sendable, CustomStringConvertible {
    /// Records, by their identifiers.
    case records([UUID])
    /// Records with the right identifiers and wrong attributes.
    case altered([UUID])
    case count(Int)
    case failure(code: String, entity: String?, id: UUID?)

    init(_ body: () throws -> FuzzAnswer) {
        do {
            self = try body()
        } catch let error as HabitStoreError {
            self = .failure(code: error.code.rawValue, entity: error.location.entity, id: error.location.id)
        } catch {
            self = .failure(code: "\(type(of: error))", entity: nil, id: nil)
        }
    }

    var isFailure: Bool {
        if case .failure = self { return true }
        return false
    }

    /// Whether two answers agree. An error's place is compared only if both errors name one.
    func agrees(with other: FuzzAnswer) -> Bool {
        guard case .failure(let code, let entity, let id) = self,
            case .failure(code, let otherEntity, let otherID) = other
        else { return self == other }
        return (entity == nil || otherEntity == nil || entity == otherEntity)
            && (id == nil || otherID == nil || id == otherID)
    }

    var description: String {
        switch self {
        case .records(let ids): return "\(ids.count) records: \(ids.map(\.uuidString).joined(separator: ", "))"
        case .altered(let ids):
            return "records with other attributes among: \(ids.map(\.uuidString).joined(separator: ", "))"
        case .count(let count): return "the count \(count)"
        case .failure(let code, let entity, let id): return "error \(code) at \(entity ?? "-") \(id?.uuidString ?? "-")"
        }
    }
}
