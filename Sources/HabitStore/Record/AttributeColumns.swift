import Foundation

/// The columns of a row in which an engine stores a record, by their positions. The engine overrides the methods for its columns,
/// and checks the values; the others throw.
///
/// A class rather than a protocol, so that an ``AttributeReader`` can borrow it: reference counting for each attribute would cost
/// more than most attributes do.
open class AttributeColumns {
    /// Columns that hold nothing.
    public init() {}

    /// Whether the column holds null.
    open func isNull(_ position: Int) throws -> Bool { throw missing(position) }
    /// A `Bool`.
    open func bool(_ position: Int) throws -> Bool { throw missing(position) }
    /// A whole number.
    open func int(_ position: Int) throws -> Int64 { throw missing(position) }
    /// A finite double.
    open func double(_ position: Int) throws -> Double { throw missing(position) }
    /// Text in NFC.
    open func text(_ position: Int) throws -> String { throw missing(position) }
    /// An identifier.
    open func uuid(_ position: Int) throws -> UUID { throw missing(position) }
    /// Bytes.
    open func data(_ position: Int) throws -> Data { throw missing(position) }
    /// A list of texts in NFC.
    open func texts(_ position: Int) throws -> [String] { throw missing(position) }
    /// Identifiers, ascending.
    open func links(_ position: Int) throws -> [UUID] { throw missing(position) }
    /// The value without its Swift type.
    open func value(_ position: Int) throws -> Value { throw missing(position) }
    /// The whole record, encoded.
    @_spi(Engines) open func encoded() throws -> EncodedRecord { throw missing(0) }

    // MARK: Value or null

    /// A finite double, or nil for null. To override where one look tells both.
    open func optionalDouble(_ position: Int) throws -> Double? { try isNull(position) ? nil : double(position) }
    /// Text in NFC, or nil for null. To override where one look tells both.
    open func optionalText(_ position: Int) throws -> String? { try isNull(position) ? nil : text(position) }
    /// An identifier, or nil for null. To override where one look tells both.
    open func optionalUUID(_ position: Int) throws -> UUID? { try isNull(position) ? nil : uuid(position) }

    private func missing(_ position: Int) -> HabitStoreError {
        HabitStoreError(
            .internalInconsistency,
            "attribute \(position) was read of a row that was asked for other attributes only"
        )
    }
}

extension Unmanaged<AttributeColumns> {
    /// Lends the columns without reference counting; the owner that lent them to the reader holds a reference.
    @inlinable
    @inline(__always)
    func lent<R>(_ body: (AttributeColumns) throws -> R) rethrows -> R { try _withUnsafeGuaranteedRef(body) }
}
