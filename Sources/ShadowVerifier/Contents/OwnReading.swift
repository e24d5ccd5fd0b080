import Foundation
@_spi(Engines) import HabitStore

/// Goes through an entity's records as the store's own transactions read them, a chunk at a time.
///
/// For stores that cannot be audited, and to hold what a store's readers say against what its file holds.
final class OwnReading: AuditCursor {
    private static let chunk = 2_000

    private let transaction: any ReadTransaction
    private let entity: String
    private let range: IdentifierRange
    private let form = CanonicalForm()
    private var buffer: [Record] = []
    private var position = -1
    private var isExhausted = false

    init(_ transaction: any ReadTransaction, entity: String, in range: IdentifierRange) {
        self.transaction = transaction
        self.entity = entity
        self.range = range
    }

    var identifier: UUID { buffer[position].id }

    var canonical: UnsafeRawBufferPointer { form.bytes }

    func next() throws -> Bool {
        position += 1
        if position >= buffer.count { try refill() }
        guard position < buffer.count else { return false }
        form.write(buffer[position].values)
        return true
    }

    private func refill() throws {
        let last = buffer.last?.id
        buffer = []
        position = 0
        guard !isExhausted else { return }
        let id = FilterExpression.attribute(AttributePath("id"))
        let lower: FilterExpression =
            last.map { .compare(.greater, id, .literal(.uuid($0))) }
            ?? .compare(.greaterOrEqual, id, .literal(.uuid(range.first)))
        var query = RecordQuery(entity: entity, limit: Self.chunk)
        query.filter = .and([lower, .compare(.lessOrEqual, id, .literal(.uuid(range.last)))])
        buffer = try transaction.records(query)
        isExhausted = buffer.count < Self.chunk
    }
}
