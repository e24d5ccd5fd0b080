import Foundation
@_spi(Engines) import HabitStore

/// One store's records of an entity as they come by, with the digests of what came.
struct ContentsReading {
    private let cursor: any AuditCursor
    private(set) var tally: DigestTally?
    private(set) var isAtEnd = false

    init(_ cursor: any AuditCursor, _ tally: DigestTally?) {
        self.cursor = cursor
        self.tally = tally
    }

    var identifier: UUID { cursor.identifier }

    var canonical: UnsafeRawBufferPointer { cursor.canonical }

    /// Goes to the next record.
    mutating func advance() throws {
        isAtEnd = try !cursor.next()
        if isAtEnd {
            tally?.finish()
        } else {
            tally?.add(cursor)
        }
    }
}

extension ReadTransaction {
    /// The records of an entity, read independently of the store's own transactions where it can be.
    func contents(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        if let audited = self as? any AuditableTransaction { return try audited.auditCursor(entity: entity, in: range) }
        return OwnReading(self, entity: schema.entities[entity].name, in: range)
    }

    /// The digests that the store keeps of an entity; nil when it keeps none.
    func keptDigests(of entity: Int) throws -> [DigestLeaf]? {
        try (self as? any AuditableTransaction)?.keptDigests(entity: entity)
    }
}
