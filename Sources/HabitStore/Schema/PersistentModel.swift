import Foundation

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
