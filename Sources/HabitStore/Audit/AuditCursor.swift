import Foundation

/// Goes through an entity's records in the order of their identifiers, as they are in the file.
///
/// An engine's cursor decodes with code of its own: it shares nothing with what the engine's transactions, copies and
/// mirrors turn rows into records with, so that a mistake there is found, and not made twice. What is no value of its
/// attribute is no error here; it has a form that no value has.
@_spi(Engines) public protocol AuditCursor: AnyObject {
    /// Goes to the next record.
    ///
    /// - Returns: false behind the last.
    func next() throws -> Bool

    /// The record's key; what identifies it in the file.
    var identifier: UUID { get }

    /// The record's ``CanonicalForm``; valid until the next call of ``next()``. It begins with the record's key, or with
    /// what is no value.
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
