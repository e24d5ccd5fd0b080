import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension LMDBSnapshot {
    /// The records of an entity in a range of identifiers, decoded by a reader that no other part shares.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        let cursor = try transaction.cursor(catalog.records(catalog.tables[entity]))
        var isBegun = range == .all
        return RecordAudit(catalog.schema.entities[entity], range, path: catalog.path) {
            if isBegun { return try cursor.next().map { ($0.key, $0.value) } }
            isBegun = true
            return try withUnsafeBytes(of: range.first.uuid) { try cursor.seek($0) }.map { ($0.key, $0.value) }
        }
    }
}
