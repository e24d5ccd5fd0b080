import Foundation

/// Takes a record's attributes one after the other, in their declared order, and encodes them as ``RecordLayout`` says.
///
/// Text becomes NFC on the way, `-0.0` becomes `0.0`, and NaN and infinities are refused.
public struct AttributeWriter: ~Copyable {
    let layout: RecordLayout
    private var bytes: UnsafeMutableRawBufferPointer
    private var used: Int
    /// How many attributes were taken.
    private(set) var field = 0
    private var mismatch: (position: Int, kind: AttributeKind)?
    /// The first value that is too large, or makes the record so.
    private var excess: (position: Int, count: Int, recordBytes: Int)?
    /// A record up to this size is within all limits, without looking at its values.
    private let unquestioned: Int
    private let refusesLargeValues: Bool

    /// A writer for records of one layout; it may be used for many, each begun with ``begin()``.
    ///
    /// - Parameter refusesLargeValues: whether the layout's limits hold. They are for values that are given, and not for those that
    ///   a store has already.
    @_spi(Engines) public init(layout: RecordLayout, refusesLargeValues: Bool = true) {
        self.layout = layout
        self.refusesLargeValues = refusesLargeValues
        unquestioned = refusesLargeValues ? layout.limits.unquestioned : Int(UInt32.max)
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(256, layout.fixedSize * 2), alignment: 16)
        used = layout.fixedSize
        begin()
    }

    deinit { bytes.deallocate() }

    /// Starts the next record.
    @_spi(Engines) public mutating func begin() {
        field = 0
        mismatch = nil
        excess = nil
        used = layout.fixedSize
        bytes[0..<layout.fixedSize].initializeMemory(as: UInt8.self, repeating: 0)
        bytes[0] = RecordLayout.formatVersion
        bytes.storeBytes(of: UInt16(layout.kinds.count).littleEndian, toByteOffset: 2, as: UInt16.self)
    }

    /// Ends the record and lends its bytes, checksum included, to `body`.
    ///
    /// - Throws: ``HabitStoreError/Code/internalInconsistency`` when the attributes written are not the declared ones;
    ///   ``HabitStoreError/Code/limitExceeded`` for a value that is too large, with its entity, attribute, size and limit.
    @_spi(Engines) public mutating func finish<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        guard mismatch == nil, field == layout.kinds.count else {
            let place = mismatch.map { "attribute \($0.position + 1) was written as \($0.kind.rawValue)" }
            throw HabitStoreError(
                .internalInconsistency,
                "a model's write(to:) does not follow its declaration: "
                    + (place ?? "\(field) of \(layout.kinds.count) attributes were written")
            )
        }
        if let excess { throw error(excess) }
        let record = UnsafeRawBufferPointer(rebasing: bytes[0..<used])
        bytes.storeBytes(of: RecordChecksum.compute(record).littleEndian, toByteOffset: 4, as: UInt32.self)
        return try body(record)
    }

    /// The slot for the next attribute, or nil when the declaration has another kind there.
    private mutating func slot(_ kind: AttributeKind) -> Int? {
        guard field < layout.kinds.count, layout.kinds[field] == kind else {
            if mismatch == nil { mismatch = (field, kind) }
            field += 1
            return nil
        }
        defer { field += 1 }
        return layout.offsets[field]
    }

    private func error(_ excess: (position: Int, count: Int, recordBytes: Int)) -> HabitStoreError {
        let hasIdentifier = layout.kinds.first == .uuid
        return layout.limits.error(
            valueOf: excess.count,
            at: excess.position,
            recordBytes: excess.recordBytes,
            id: hasIdentifier ? bytes.loadUnaligned(fromByteOffset: layout.firstSlot, as: UUID.self) : nil
        )
    }

    /// Whether the value of the attribute that was begun last is too large, or makes the record so.
    @inline(never)
    private mutating func isExcess(_ count: Int) -> Bool {
        let (position, recordBytes) = (field - 1, used + count)
        if excess == nil,
            !refusesLargeValues && recordBytes > Int(UInt32.max)
                || refusesLargeValues
                    && layout.limits.isExceeded(byValueOf: count, at: position, recordBytes: recordBytes)
        {
            excess = (position, count, recordBytes)
        }
        return excess != nil
    }

    private mutating func reserve(_ count: Int) {
        guard used + count > bytes.count else { return }
        let grown = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(bytes.count * 2, used + count),
            alignment: 16
        )
        grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<used]))
        bytes.deallocate()
        bytes = grown
    }

    private mutating func appendVariable(
        _ kind: AttributeKind,
        count: Int,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        guard let offset = slot(kind) else { return }
        if used &+ count > unquestioned, isExcess(count) { return }
        reserve(count)
        fill(UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + count]))
        bytes.storeBytes(of: UInt32(used).littleEndian, toByteOffset: offset, as: UInt32.self)
        bytes.storeBytes(of: UInt32(count).littleEndian, toByteOffset: offset + 4, as: UInt32.self)
        used += count
    }

    private mutating func appendText(_ text: String, as kind: AttributeKind) {
        var text = text.normalizedToNFC()
        text.withUTF8 { utf8 in
            appendVariable(kind, count: utf8.count) { $0.copyMemory(from: UnsafeRawBufferPointer(utf8)) }
        }
    }

    /// Writes the next attribute, a text, from its UTF-8.
    ///
    /// - Returns: false, and nothing is written, where the bytes may not be in NFC: when they are not all ASCII.
    package mutating func append(ascii utf8: UnsafeRawBufferPointer) -> Bool {
        guard utf8.isASCII else { return false }
        appendVariable(.string, count: utf8.count) { $0.copyMemory(from: utf8) }
        return true
    }

    /// Writes the next attribute, links that are in ascending order and without repeats.
    package mutating func append(ascendingLinks ids: [UUID]) { appendLinks(ids) }

    /// Writes null for the next attribute.
    public mutating func appendNull() {
        guard field < layout.kinds.count else {
            field += 1
            return
        }
        bytes[RecordLayout.headerSize + field / 8] |= 1 << UInt8(field % 8)
        field += 1
    }

    /// Writes the next attribute, a `Bool`.
    public mutating func append(_ value: Bool) {
        if let offset = slot(.bool) { bytes[offset] = value ? 1 : 0 }
    }

    /// Writes the next attribute, an `Int`.
    public mutating func append(_ value: Int) {
        if let offset = slot(.int) {
            bytes.storeBytes(of: Int64(value).littleEndian, toByteOffset: offset, as: Int64.self)
        }
    }

    /// Writes the next attribute, a `Double`; throws for NaN and infinities.
    public mutating func append(_ value: Double) throws {
        let bits = try value.storable().bitPattern
        if let offset = slot(.double) {
            bytes.storeBytes(of: bits.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
    }

    /// Writes the next attribute, a text.
    public mutating func append(_ value: String) { appendText(value, as: .string) }

    /// Writes the next attribute, a `Date`; throws for NaN and infinities.
    public mutating func append(_ value: Date) throws {
        let bits = try value.timeIntervalSinceReferenceDate.storable().bitPattern
        if let offset = slot(.date) {
            bytes.storeBytes(of: bits.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
    }

    /// Writes the next attribute, a `UUID`.
    public mutating func append(_ value: UUID) {
        if let offset = slot(.uuid) { bytes.storeBytes(of: value.uuid, toByteOffset: offset, as: uuid_t.self) }
    }

    /// Writes the next attribute, bytes.
    public mutating func append(_ value: Data) {
        value.withUnsafeBytes { source in
            appendVariable(.data, count: source.count) { $0.copyMemory(from: source) }
        }
    }

    /// Writes the next attribute, a list of texts: count u32, then for each its length u32 and its UTF-8.
    public mutating func append(_ value: [String]) {
        let texts = value.map { Array($0.normalizedToNFC().utf8) }
        appendVariable(.strings, count: 4 + texts.reduce(0) { $0 + 4 + $1.count }) { target in
            target.storeBytes(of: UInt32(texts.count).littleEndian, toByteOffset: 0, as: UInt32.self)
            var offset = 4
            for text in texts {
                target.storeBytes(of: UInt32(text.count).littleEndian, toByteOffset: offset, as: UInt32.self)
                target[(offset + 4)..<(offset + 4 + text.count)].copyBytes(from: text)
                offset += 4 + text.count
            }
        }
    }

    /// Writes the next attribute, links: the identifiers, ascending.
    public mutating func append(_ value: Set<UUID>) { appendLinks(value.sorted { $0.isBefore($1) }) }

    private mutating func appendLinks(_ ids: [UUID]) {
        appendVariable(.links, count: ids.count * 16) { target in
            for (index, id) in ids.enumerated() {
                target.storeBytes(of: id.uuid, toByteOffset: index * 16, as: uuid_t.self)
            }
        }
    }

    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: Bool?) { if let value { append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: Int?) { if let value { append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: Double?) throws { if let value { try append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: String?) { if let value { append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: Date?) throws { if let value { try append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: UUID?) { if let value { append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: Data?) { if let value { append(value) } else { appendNull() } }
    /// Writes the next attribute, or null for nil.
    public mutating func append(_ value: [String]?) { if let value { append(value) } else { appendNull() } }

    /// Writes the next attribute, of any convertible type: enums, JSON values, and generic code.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a value that would not be read back equal.
    public mutating func append(converting value: some AttributeConvertible) throws {
        try append(value: value.valueThatReadsBackEqual())
    }

    /// Writes the next attribute without its Swift type.
    public mutating func append(value: Value) throws {
        switch value {
        case .null: appendNull()
        case .bool(let flag): append(flag)
        case .int(let number): append(Int(number))
        case .double(let number): try append(number)
        case .string(let text): append(text)
        case .date(let date): try append(date)
        case .uuid(let id): append(id)
        case .data(let data): append(data)
        case .strings(let texts): append(texts)
        case .links(let ids): append(Set(ids))
        }
    }
}
