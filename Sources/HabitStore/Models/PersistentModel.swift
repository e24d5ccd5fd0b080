import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A plain struct that a store can keep.
///
/// It declares its shape in ``entity`` and reads and writes its stored attributes in the declared order. `Schema` proves
/// at start-up that all three say the same, attribute by attribute, so a slip in the order cannot reach a store.
///
/// ```swift
/// struct Book: PersistentModel {
///     var id: UUID
///     var title: String
///     static let entity = EntityDescription(Book.self, attributes: [.id(\Book.id), .attribute("title", \Book.title)])
///     init(id: UUID = UUID(), title: String) { (self.id, self.title) = (id, title) }
///     init(row: inout AttributeReader) throws {
///         self.init(id: try row.nextUUID(), title: try row.nextString())
///     }
///     func write(to row: inout AttributeWriter) throws {
///         row.append(id)
///         row.append(title)
///     }
/// }
/// ```
public protocol PersistentModel: Sendable, Equatable, Codable, Identifiable where ID == UUID {
    /// The entity's name, attributes, relationships and indexes.
    static var entity: EntityDescription { get }

    /// The record's identity; unique, and the last key of every order.
    var id: UUID { get }

    /// Reads the attributes in their declared order.
    ///
    /// It has to take every value of the attributes' types: a store may hold any, and a schema proves the model with made-up ones. Assign
    /// the properties here, and check values in the initializer that the app calls.
    init(row: inout AttributeReader) throws

    /// Writes the attributes in their declared order.
    func write(to row: inout AttributeWriter) throws

    /// The models of a fetch, in order. You need not implement it: it is a requirement so that the loop is compiled for the model, in the model's
    /// module.
    static func models(of fetch: PreparedFetch, in transaction: any RowSource) throws -> [Self]

    /// Hands the models of a fetch to `body`, in order, until it returns false. There is no need to write it either.
    @discardableResult
    static func enumerate(
        _ fetch: PreparedFetch,
        in transaction: any RowSource,
        _ body: (Self) throws -> Bool
    ) throws -> FetchStatistics

    /// The model of an identifier, or nil. There is no need to write it either.
    static func model(entity: Int, id: UUID, in transaction: any RowSource) throws -> Self?
}

extension PersistentModel {
    /// The models of a fetch, in order.
    @inlinable
    public static func models(of fetch: PreparedFetch, in transaction: any RowSource) throws -> [Self] {
        var models: [Self] = []
        if let expected = transaction.expectedCount(fetch) { models.reserveCapacity(expected) }
        try transaction.enumerateRows(fetch) { row in
            if models.count == models.capacity { models.reserveCapacity(FetchedModels.capacity(after: models.count)) }
            models.append(try read(from: &row))
            return true
        }
        return models
    }

    /// Hands the models of a fetch to `body`, in order, until it returns false.
    @inlinable
    @discardableResult
    public static func enumerate(
        _ fetch: PreparedFetch,
        in transaction: any RowSource,
        _ body: (Self) throws -> Bool
    ) throws -> FetchStatistics {
        try transaction.enumerateRows(fetch) { try body(try read(from: &$0)) }
    }

    /// The model of an identifier, or nil.
    @inlinable
    public static func model(entity: Int, id: UUID, in transaction: any RowSource) throws -> Self? {
        var model: Self?
        _ = try transaction.withRow(entity: entity, id: id) { model = try read(from: &$0) }
        return model
    }
}

extension PersistentModel {
    /// A record as this model.
    ///
    /// - Throws: what ``init(row:)`` throws; ``HabitStoreError/Code/unreadableValue`` with the entity, the attribute and the
    ///   record.
    @inlinable
    static func read(from row: inout AttributeReader) throws -> Self {
        do {
            return try Self(row: &row)
        } catch {
            throw named(error, row)
        }
    }

    /// The error of reading a record, which does not know which record it was.
    @usableFromInline
    @inline(never)
    static func named(_ error: any Error, _ row: borrowing AttributeReader) -> any Error {
        guard let error = error as? HabitStoreError, error.code == .unreadableValue, error.location.entity == nil else {
            return error
        }
        var place = error.location
        place.entity = entity.name
        // The reader stands after the attribute that it read last.
        let position = row.field - 1
        if place.attribute == nil, entity.attributes.indices.contains(position) {
            place.attribute = entity.attributes[position].name
        }
        place.id = place.id ?? (try? row.identifier())
        let title = entity.name + (place.attribute.map { "." + $0 } ?? "")
        let record = place.id.map { " of record \($0)" } ?? ""
        return HabitStoreError(
            error.code,
            "\(title)\(record): \(error.message)",
            at: place,
            underlying: error.underlying
        )
    }
}

/// How an array that models are fetched into grows.
@usableFromInline
enum FetchedModels {
    /// For so many at most there is room from the beginning.
    static let mostExpected = 1 << 18

    /// The new capacity of a full array.
    ///
    /// Long arrays grow faster than Swift's: growing moves everything read so far, and memory past the end of a large array costs nothing until it is
    /// touched.
    @inlinable
    static func capacity(after count: Int) -> Int {
        if count < 16 { return 16 }
        return count < 4_096 ? count * 2 : count * 4
    }
}

/// The source of models' computed relationship properties: the transaction that runs on this thread.
///
/// A store sets it while a transaction's closure runs. A model's relationship property is one line:
/// `var habit: Habit? { RelationshipScope.one(\Entry.habit, habitID) }`.
public enum RelationshipScope {
    /// The record that a reference leads to, or nil when the reference is nil or dangles.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func one<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, D?>, _ reference: UUID?) -> D?
    {
        guard let reference else { return nil }
        return resolver(keyPath).record(D.self, reference)
    }

    /// The records that links lead to, ascending by identifier, dangling links left out.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func linked<M: PersistentModel, D: PersistentModel>(
        _ keyPath: KeyPath<M, [D]>,
        _ links: Set<UUID>
    ) -> [D] {
        let resolver = resolver(keyPath)
        return links.sorted { $0.isBefore($1) }.compactMap { resolver.record(D.self, $0) }
    }

    /// The records on the other side that refer to the record `owner`, ascending by identifier.
    ///
    /// - Precondition: a transaction is running on this thread.
    public static func many<M: PersistentModel, D: PersistentModel>(
        _ keyPath: KeyPath<M, [D]>,
        of owner: UUID
    ) -> [D] {
        resolver(keyPath).records(keyPath, of: owner)
    }

    private static func resolver<M: PersistentModel>(_ keyPath: PartialKeyPath<M>) -> any RelationshipResolver {
        guard let current else {
            // Unlike preconditionFailure, this says its sentence in release builds too.
            fatalError(
                "the relationship \(M.entity.title(of: keyPath)) was read outside of a transaction; read it inside store.read { … }, on its thread. "
                    + "Ask a predicate that reads it by store.read { try $0.matches(model, predicate) }"
            )
        }
        return current
    }
}

/// Follows relationships inside one transaction. Getters cannot throw: an error is kept and thrown by the transaction.
package protocol RelationshipResolver: AnyObject {
    func record<D: PersistentModel>(_ type: D.Type, _ id: UUID) -> D?
    func records<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, [D]>, of owner: UUID) -> [D]
}

/// Which transaction runs on the calling thread.
///
/// It belongs to the thread, not to a task: a transaction's closure runs on one thread from its first line to its last. Tasks and threads that
/// it starts continue after it has ended, and must not see it.
extension RelationshipScope {
    /// Where a thread keeps the address of its resolver.
    private static let slot: pthread_key_t = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key, nil)
        precondition(result == 0, "the system has no more thread-specific keys (\(result))")
        return key
    }()

    /// What relationship properties read from on the calling thread; nil outside of transactions.
    static var current: (any RelationshipResolver)? {
        pthread_getspecific(slot)?.assumingMemoryBound(to: (any RelationshipResolver).self).pointee
    }

    /// Runs `body`, in which relationship properties read from `resolver` on this thread, and afterwards from what they read
    /// from before.
    package static func withResolver<R>(_ resolver: any RelationshipResolver, _ body: () throws -> R) rethrows -> R {
        try withUnsafePointer(to: resolver) { address in
            let outer = pthread_getspecific(slot)
            enter(address)
            defer { enter(outer) }
            return try body()
        }
    }

    private static func enter(_ address: UnsafeRawPointer?) {
        let result = pthread_setspecific(slot, address)
        // A resolver that outlives its transaction, or is not found within it, must not go unnoticed.
        precondition(result == 0, "a thread could not keep its transaction (\(result))")
    }
}
