import Foundation

/// Walks an entity's stored records in the order of their identifiers.
///
/// An engine's cursor has a separate decoder: it shares nothing with the code that turns rows into records for the engine's
/// transactions, copies and mirrors, so that a mistake there is found rather than repeated. A value that is invalid for its
/// attribute is not an error here; its form differs from that of all values.
@_spi(Engines) public protocol AuditCursor: AnyObject {
    /// Moves to the next record.
    ///
    /// - Returns: false after the last.
    func next() throws -> Bool

    /// The record's key; what identifies it in the file.
    var identifier: UUID { get }

    /// The record's ``CanonicalForm``, valid until the next call of ``next()``. It begins with the record's key, or with an invalid
    /// value.
    var canonical: UnsafeRawBufferPointer { get }
}

/// A read transaction that can be audited: its records can be read past what transactions read with, and it may know the
/// digests that the store's own transactions keep.
@_spi(Engines) public protocol AuditableTransaction: ReadTransaction {
    /// The records of an entity in a range of identifiers.
    func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor

    /// The kept digests of an entity, ascending; nil in a store that was never written to by a version that keeps them.
    func keptDigests(entity: Int) throws -> [DigestLeaf]?

    /// Whether the store's file was migrated: its history may then name records of entities that the schema no longer has.
    func wasMigrated() throws -> Bool
}
