import Foundation

/// Some attributes of a record.
public struct Projection<Model: PersistentModel>: Sendable {
    /// The values of the requested attributes, in that order. The first is stored separately, so that a row of one attribute allocates nothing.
    @usableFromInline let first: Value?
    @usableFromInline let others: [Value]
    @usableFromInline let attributes: ProjectedAttributes

    /// The record's identifier.
    public let id: UUID

    @inlinable
    init(_ attributes: ProjectedAttributes, of row: inout AttributeReader) throws {
        self.attributes = attributes
        first = try attributes.first(of: row)
        others = try attributes.others(of: row)
        id = try row.nextUUID()
    }

    /// Reads the projection from a reader over a whole row.
    init(_ attributes: ProjectedAttributes, ofWhole row: inout AttributeReader) throws {
        self.attributes = attributes
        first = try attributes.first(of: row)
        others = try attributes.others(of: row)
        id = try row.identifier()
    }

    /// Whether both are the same record's, with the same values.
    func hasSameValues(as other: Projection) -> Bool {
        id == other.id && first == other.first && others == other.others
    }

    /// The value of one of the attributes that were asked for; nil when it was not asked for.
    public subscript<V: AttributeConvertible>(_ keyPath: KeyPath<Model, V>) -> V? {
        value(of: keyPath).flatMap { V(attributeValue: $0) }
    }

    /// The value of one of the attributes that were asked for and are kept as JSON; nil when it was not asked for.
    ///
    /// - Throws: ``HabitStoreError/Code/unreadableValue`` for JSON that is not a value of the attribute's type.
    @_disfavoredOverload
    public subscript<V: Codable & Sendable & Equatable>(_ keyPath: KeyPath<Model, V>) -> V? {
        get throws { try decoded(JSONAttribute<V>.self, keyPath)?.wrappedValue }
    }

    /// The value of one of the attributes that were asked for and are kept as JSON or null; nil when it was not asked for.
    ///
    /// - Throws: ``HabitStoreError/Code/unreadableValue`` for JSON that is not a value of the attribute's type.
    @_disfavoredOverload
    public subscript<V: Codable & Sendable & Equatable>(_ keyPath: KeyPath<Model, V?>) -> V?? {
        get throws { try decoded(JSONAttribute<V>?.self, keyPath).map { $0?.wrappedValue } }
    }

    private func value<V>(of keyPath: KeyPath<Model, V>) -> Value? {
        guard let place = attributes.place(of: keyPath) else { return nil }
        return place == 0 ? first : others[place - 1]
    }

    private func decoded<A: AttributeConvertible, V>(_ type: A.Type, _ keyPath: KeyPath<Model, V>) throws -> A? {
        guard let value = value(of: keyPath) else { return nil }
        if let decoded = A(attributeValue: value) { return decoded }
        throw HabitStoreError(
            .unreadableValue,
            "the stored JSON is not a value of the attribute's type \(V.self)",
            at: .init(entity: Model.entity.name, attribute: attributes.name(of: keyPath, in: Model.entity), id: id)
        )
    }
}

/// What rows of one projection share: the attributes that were asked for.
@usableFromInline
final class ProjectedAttributes: Sendable {
    /// The attributes' positions.
    let positions: [Int]
    private let schema: Schema
    /// The offset of each property in the model; nil for one that is not stored.
    private let offsets: [Int?]

    /// - Throws: ``HabitStoreError/Code/unsupported`` for a property that is not a stored attribute of the model.
    @usableFromInline
    init<Model: PersistentModel>(_ properties: [PartialKeyPath<Model>], schema: Schema) throws {
        self.schema = schema
        positions = try properties.map { keyPath in
            guard let position = schema.attributePosition(at: keyPath) else {
                throw HabitStoreError(
                    .unsupported,
                    "\(keyPath) is not a stored attribute of \(Model.entity.name), and only these can be projected",
                    at: .init(entity: Model.entity.name)
                )
            }
            return position
        }
        offsets = properties.map { MemoryLayout<Model>.offset(of: $0) }
    }

    /// The value of the first attribute; nil where none was asked for.
    @usableFromInline
    func first(of row: borrowing AttributeReader) throws -> Value? {
        guard let position = positions.first else { return nil }
        return try row.value(at: position)
    }

    /// The values of the other attributes.
    @usableFromInline
    func others(of row: borrowing AttributeReader) throws -> [Value] {
        guard positions.count > 1 else { return [] }
        return try positions[1...].map { try row.value(at: $0) }
    }

    /// The place of an attribute among them; nil when it is none of them.
    func place<Model: PersistentModel, V>(of keyPath: KeyPath<Model, V>) -> Int? {
        // Two stored properties never share an offset, and comparing offsets is faster than comparing key paths.
        if let offset = MemoryLayout<Model>.offset(of: keyPath), let place = offsets.firstIndex(of: offset) {
            return place
        }
        guard let position = schema.attributePosition(at: keyPath) else { return nil }
        return positions.firstIndex(of: position)
    }

    /// The name of the attribute that a key path leads to.
    func name(of keyPath: AnyKeyPath, in entity: EntityDescription) -> String? {
        schema.attributePosition(at: keyPath).map { entity.attributes[$0].name }
    }
}

/// The records of a fetch in batches, in order, read as the consumer asks for them; see ``HabitStore/stream(_:batchSize:)``.
///
/// Each loop over it begins with the first batch.
public struct RecordBatches<Model: PersistentModel>: AsyncSequence, Sendable {
    let store: any HabitStore
    let descriptor: FetchDescriptor<Model>
    let size: Int

    /// Begins with the first batch.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The batches of one loop. No transaction stays open while the consumer is busy: each batch begins after the last record of the
    /// one before.
    public struct Iterator: AsyncIteratorProtocol {
        private let batches: RecordBatches
        private var cursor: PageCursor?
        private var isDone = false

        init(_ batches: RecordBatches) {
            self.batches = batches
            cursor = batches.descriptor.cursor
        }

        /// The next batch; nil after the last record.
        ///
        /// - Throws: what is wrong with the fetch or the store; `CancellationError` when the task is cancelled and records are left.
        public mutating func next() async throws -> [Model]? {
            guard !isDone else { return nil }
            var descriptor = batches.descriptor
            descriptor.cursor = cursor
            let (asked, size) = (descriptor, batches.size)
            let page = try await batches.store.read { try $0.fetchPage(asked, size: size) }
            cursor = page.next
            isDone = page.next == nil
            return page.models.isEmpty ? nil : page.models
        }
    }
}
