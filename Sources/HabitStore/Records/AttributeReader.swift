import Foundation

/// Hands out a record's attributes one after the other, in their declared order.
///
/// It reads an encoded record where it lies, or the columns of an engine's row. Neither is trusted: a value of another
/// kind, or null where the schema does not allow it, is thrown as ``HabitStoreError/Code/corrupt``. It is valid as long
/// as the row is that it was made from, and cannot be copied: what lends it keeps it.
public struct AttributeReader: ~Copyable {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    /// Borrowed: the creator of the reader owns them.
    @usableFromInline let columns: Unmanaged<AttributeColumns>?
    @usableFromInline unowned(unsafe) let layout: RecordLayout
    @usableFromInline var field = 0
    @usableFromInline var position: Int

    /// Reads an encoded record.
    ///
    /// - Important: the layout is not kept alive; the schema that it belongs to must outlive the reader.
    @inlinable
    @_spi(Engines) public init(_ bytes: UnsafeRawBufferPointer, layout: __shared RecordLayout) {
        self.bytes = bytes
        self.layout = layout
        columns = nil
        position = layout.firstSlot
    }

    @usableFromInline
    init(columns: AttributeColumns, layout: RecordLayout) {
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        self.layout = layout
        self.columns = .passUnretained(columns)
        position = 0
    }

    /// Lends `body` a reader of the columns of a row, which is valid during the call. (A reader counts no references:
    /// that would cost more than most attributes do.)
    @_spi(Engines) public static func withReader<R>(
        of columns: AttributeColumns,
        layout: RecordLayout,
        _ body: (inout AttributeReader) throws -> R
    ) rethrows -> R {
        try withExtendedLifetime(columns) {
            var reader = AttributeReader(columns: columns, layout: layout)
            return try body(&reader)
        }
    }

    /// Whether there is an encoded record; asked first, so that reading one never touches the other reference.
    @inlinable
    @inline(__always) var isEncoded: Bool { bytes.baseAddress != nil }

    /// Starts again at the first attribute.
    @inlinable
    @_spi(Engines) public mutating func rewind() {
        field = 0
        position = isEncoded ? layout.firstSlot : 0
    }

    // MARK: By position

    /// The row's values as filters read them, as long as the reader is lent.
    var values: LentRow { LentRow(bytes: bytes, columns: columns, layout: layout) }

    /// The value of the attribute at a position, without its Swift type.
    @_spi(Engines) public func value(at position: Int) throws -> Value {
        if !isEncoded, let columns { return try columns.lent { try $0.value(position) } }
        return try RecordView(trusting: bytes, layout: layout).value(at: position)
    }

    /// The identifier, which is every record's first attribute.
    @_spi(Engines) public func identifier() throws -> UUID {
        if !isEncoded, let columns { return try columns.lent { try $0.uuid(0) } }
        return try RecordView(trusting: bytes, layout: layout).identifier()
    }

    /// The whole record, encoded, as a copy that owns its bytes.
    @_spi(Engines) public func encoded() throws -> EncodedRecord {
        if !isEncoded, let columns { return try columns.lent { try $0.encoded() } }
        return EncodedRecord(copying: bytes)
    }

    /// Lends the whole record, encoded, without a copy where the row lies encoded already.
    package func withEncoded<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        if !isEncoded, let columns { return try columns.lent { try $0.encoded() }.bytes.withUnsafeBytes(body) }
        return try body(bytes)
    }

    /// Lends the whole record, encoded, and a reader of these bytes: columns are read once for both.
    package func withEncodedReader<R>(
        _ body: (UnsafeRawBufferPointer, inout AttributeReader) throws -> R
    ) throws -> R {
        try withEncoded { bytes in
            var reader = AttributeReader(bytes, layout: layout)
            return try body(bytes, &reader)
        }
    }

    // MARK: In order

    /// Whether the next attribute, of this kind, is null; when it is, it is passed over.
    @inlinable
    @inline(__always)
    public mutating func skipNull(_ kind: AttributeKind) throws -> Bool {
        guard isEncoded else { return try skipNullColumn(kind) }
        guard isNullInBytes else { return false }
        position &+= RecordLayout.slotSize(kind)
        field &+= 1
        return true
    }

    @inlinable
    @inline(never)
    mutating func skipNullColumn(_ kind: AttributeKind) throws -> Bool {
        // Links are never null, and have no column.
        guard let columns, kind != .links, field < layout.attributeCount,
            try columns.lent({ try $0.isNull(field) })
        else { return false }
        field &+= 1
        return true
    }

    @inlinable
    @inline(__always) var isNullInBytes: Bool {
        let offset = RecordLayout.headerSize &+ field &>> 3
        return offset >= bytes.count || bytes[offset] & (1 &<< UInt8(truncatingIfNeeded: field & 7)) != 0
    }

    /// The offset of the next slot in an encoded record.
    @inlinable
    @inline(__always)
    mutating func takeSlot(_ size: Int) throws -> Int {
        if isNullInBytes { throw Self.unexpectedNull }
        let offset = position
        guard offset &+ size <= bytes.count else { throw Self.outOfBounds }
        position = offset &+ size
        field &+= 1
        return offset
    }

    @inlinable
    @inline(__always)
    mutating func takeVariable() throws -> UnsafeRawBufferPointer {
        let slot = try takeSlot(8)
        let start = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: slot, as: UInt32.self)))
        let count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: slot &+ 4, as: UInt32.self)))
        guard start &+ count <= bytes.count else { throw Self.outOfBounds }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start &+ count])
    }

    /// The next attribute, a `Bool`.
    @inlinable
    @inline(__always)
    public mutating func nextBool() throws -> Bool {
        guard isEncoded else { return try column { try $0.bool($1) } }
        return bytes[try takeSlot(1)] != 0
    }

    /// The next attribute, an `Int`.
    @inlinable
    @inline(__always)
    public mutating func nextInt() throws -> Int {
        guard isEncoded else { return Int(try column { try $0.int($1) }) }
        return Int(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: try takeSlot(8), as: Int64.self)))
    }

    /// The next attribute, a finite `Double`.
    @inlinable
    @inline(__always)
    public mutating func nextDouble() throws -> Double {
        guard isEncoded else { return try column { try $0.double($1) } }
        let bits = bytes.loadUnaligned(fromByteOffset: try takeSlot(8), as: UInt64.self)
        let number = Double(bitPattern: UInt64(littleEndian: bits))
        guard number.isFinite else { throw Self.outOfBounds }
        return number
    }

    /// The next attribute, a `Date`.
    @inlinable
    @inline(__always)
    public mutating func nextDate() throws -> Date { Date(timeIntervalSinceReferenceDate: try nextDouble()) }

    /// The next attribute, a `UUID`.
    @inlinable
    @inline(__always)
    public mutating func nextUUID() throws -> UUID {
        guard isEncoded else { return try column { try $0.uuid($1) } }
        // A UUID is its sixteen bytes, without more; making one by its initializer costs a call into Foundation.
        return bytes.loadUnaligned(fromByteOffset: try takeSlot(16), as: UUID.self)
    }

    /// The next attribute, text in NFC.
    @inlinable
    @inline(__always)
    public mutating func nextString() throws -> String {
        guard isEncoded else { return try column { try $0.text($1) } }
        return try Self.text(takeVariable())
    }

    /// The next attribute, bytes.
    public mutating func nextData() throws -> Data {
        guard isEncoded else { return try column { try $0.data($1) } }
        return Data(try takeVariable())
    }

    /// The next attribute, a list of texts.
    public mutating func nextStrings() throws -> [String] {
        guard isEncoded else { return try column { try $0.texts($1) } }
        return try RecordView.texts(takeVariable())
    }

    /// The next attribute, identifiers in ascending order.
    public mutating func nextLinks() throws -> [UUID] {
        guard isEncoded else { return try column { try $0.links($1) } }
        return try RecordView.links(takeVariable())
    }

    /// Reads the next column. A separate function, so that the code for encoded records is short enough to inline.
    @inlinable
    @inline(never)
    mutating func column<T>(_ read: (AttributeColumns, Int) throws -> T) throws -> T {
        guard let columns, field < layout.attributeCount else { throw Self.outOfBounds }
        defer { field &+= 1 }
        return try columns.lent { try read($0, field) }
    }

    // MARK: Decoding

    @inlinable
    static func text(_ utf8: UnsafeRawBufferPointer) throws -> String {
        // ASCII is valid as it stands, and most text is ASCII.
        if utf8.isASCII { return String(decoding: utf8, as: UTF8.self) }
        return try storedText(utf8)
    }

    /// Text that is not ASCII, in NFC, in which all engines hand it out.
    @usableFromInline
    @inline(never)
    static func storedText(_ utf8: UnsafeRawBufferPointer) throws -> String {
        guard let text = String.stored(utf8) else { throw outOfBounds }
        return text
    }

    @usableFromInline static let outOfBounds = HabitStoreError.damage(
        "a record's parts point outside of it or hold impossible values; run `\(OperatorCommand.name) check`"
    )
    @usableFromInline static let unexpectedNull = HabitStoreError.damage(
        "a record has no value for an attribute that must have one; run `\(OperatorCommand.name) check`"
    )
}

extension AttributeReader {
    /// The next attribute, a `Bool` or nil.
    @inlinable
    public mutating func nextOptionalBool() throws -> Bool? { try skipNull(.bool) ? nil : nextBool() }
    /// The next attribute, an `Int` or nil.
    @inlinable
    public mutating func nextOptionalInt() throws -> Int? { try skipNull(.int) ? nil : nextInt() }
    /// The next attribute, a `Double` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalDouble() throws -> Double? {
        guard isEncoded else { return try column { try $0.optionalDouble($1) } }
        return try skipNull(.double) ? nil : nextDouble()
    }
    /// The next attribute, text or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalString() throws -> String? {
        guard isEncoded else { return try column { try $0.optionalText($1) } }
        return try skipNull(.string) ? nil : nextString()
    }
    /// The next attribute, a `Date` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalDate() throws -> Date? {
        try nextOptionalDouble().map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    /// The next attribute, a `UUID` or nil.
    @inlinable
    @inline(__always)
    public mutating func nextOptionalUUID() throws -> UUID? {
        guard isEncoded else { return try column { try $0.optionalUUID($1) } }
        return try skipNull(.uuid) ? nil : nextUUID()
    }
    /// The next attribute, bytes or nil.
    @inlinable
    public mutating func nextOptionalData() throws -> Data? { try skipNull(.data) ? nil : nextData() }
    /// The next attribute, a list of texts or nil.
    @inlinable
    public mutating func nextOptionalStrings() throws -> [String]? { try skipNull(.strings) ? nil : nextStrings() }

    /// The next attribute of any convertible type: enums, JSON values, and generic code.
    ///
    /// - Throws: ``HabitStoreError/Code/unreadableValue`` when the type has no such value: most likely a newer version of the
    ///   app has written it. The store is sound, and every other record can be read.
    public mutating func next<T: AttributeConvertible>(_ type: T.Type = T.self) throws -> T {
        let value = try nextValue(of: T.attributeKind)
        guard let result = T(attributeValue: value) else {
            throw HabitStoreError(
                .unreadableValue,
                "the stored value is not a value of this version's \(T.self); let that type read it, or use the version of the app "
                    + "that wrote it"
            )
        }
        return result
    }

    /// The next attribute, without its Swift type.
    public mutating func nextValue(of kind: AttributeKind) throws -> Value {
        if try skipNull(kind) { return .null }
        switch kind {
        case .bool: return .bool(try nextBool())
        case .int: return .int(Int64(try nextInt()))
        case .double: return .double(try nextDouble())
        case .string: return .string(try nextString())
        case .date: return .date(try nextDate())
        case .uuid: return .uuid(try nextUUID())
        case .data: return .data(try nextData())
        case .strings: return .strings(try nextStrings())
        case .links: return .links(try nextLinks())
        }
    }
}

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
