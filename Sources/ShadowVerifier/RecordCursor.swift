import Foundation
import HabitStore

/// Pulls an entity's records in the order of their identifiers, a chunk at a time, from one transaction.
struct RecordCursor {
    private static let chunk = 2_000

    private let transaction: any ReadTransaction
    private let entity: String
    private var buffer: [Record] = []
    private var position = 0
    private var last: UUID?
    private var isExhausted = false

    init(_ transaction: any ReadTransaction, entity: String) {
        self.transaction = transaction
        self.entity = entity
    }

    /// The next record without taking it; nil behind the last.
    mutating func peek() throws -> Record? {
        if position == buffer.count { try refill() }
        return position < buffer.count ? buffer[position] : nil
    }

    /// Takes the record that ``peek()`` showed.
    mutating func advance() { position += 1 }

    private mutating func refill() throws {
        guard !isExhausted else { return }
        var query = RecordQuery(entity: entity, limit: Self.chunk)
        if let last {
            query.filter = .compare(.greater, .attribute(AttributePath("id")), .literal(.uuid(last)))
        }
        buffer = try transaction.records(query)
        position = 0
        last = buffer.last?.id
        isExhausted = buffer.count < Self.chunk
    }
}
