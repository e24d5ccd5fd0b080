import Foundation

/// Where a compiled filter finds a record: in a slot, or at the end of to-one references that start there.
struct RecordSource {
    /// The slot.
    let slot: Int
    /// The last of the references; nil for the record in the slot itself.
    let step: ReferenceStep?

    /// The record's reader; nil when the references lead to none.
    @inline(__always)
    func reader(_ rows: FilterRows) throws -> UnsafePointer<AttributeReader>? {
        if let step { return try step.reader(rows) }
        return rows[slot]
    }
}

/// A to-one reference that is followed. Records are kept as copies by their identifiers, so that many rows with the same
/// few references (a habit's entries) read each record once.
final class ReferenceStep {
    private struct Kept: BitwiseCopyable {
        var id: IdentifierKey
        var exists: Bool
        var moment: UInt64
    }

    /// How many records are kept at most; a power of two. Each has two places in which it may be, so that two that share
    /// a place do not keep putting each other out.
    private static let capacity = 1_024

    private let reference: AttributePlace
    private let destination: Int
    private let layout: RecordLayout
    private let records: any RelatedRecords
    private let moment: FilterSnapshot
    private let kept: OwnedBuffer<Kept>
    private let readers: UnsafeMutablePointer<AttributeReader>
    private var memory: [FilterScratch?] = Array(repeating: nil, count: capacity)
    private var reads = 0

    init(
        _ reference: AttributePlace,
        destination: Int,
        layout: RecordLayout,
        records: any RelatedRecords,
        moment: FilterSnapshot
    ) {
        self.reference = reference
        self.destination = destination
        self.layout = layout
        self.records = records
        self.moment = moment
        kept = OwnedBuffer(repeatElement(Kept(id: .zero, exists: false, moment: 0), count: Self.capacity))
        readers = .allocate(capacity: Self.capacity)
    }

    deinit { readers.deallocate() }

    /// The reader of the record that the reference leads to; nil when there is none.
    func reader(_ rows: FilterRows) throws -> UnsafePointer<AttributeReader>? {
        guard let id = try reference.identifier(rows) else { return nil }
        let first = Int(truncatingIfNeeded: id.hash) & (Self.capacity - 2)
        if isKept(id, first) { return lent(first) }
        if isKept(id, first + 1) { return lent(first + 1) }
        let place = try read(id, first)
        return lent(place)
    }

    @inline(__always)
    private func isKept(_ id: IdentifierKey, _ place: Int) -> Bool {
        kept.base[place].id == id && kept.base[place].moment == moment.number
    }

    @inline(__always)
    private func lent(_ place: Int) -> UnsafePointer<AttributeReader>? {
        kept.base[place].exists ? UnsafePointer(readers + place) : nil
    }

    /// Reads a record into one of its two places: a free one, or each in turn.
    private func read(_ id: IdentifierKey, _ first: Int) throws -> Int {
        reads &+= 1
        let isFree = kept.base[first].moment != moment.number
        let place = isFree ? first : first + (kept.base[first + 1].moment != moment.number ? 1 : reads & 1)
        let entry = kept.base + place
        entry.pointee.moment = 0
        let scratch = memory[place] ?? FilterScratch()
        memory[place] = scratch
        let exists = try records.withRelated(entity: destination, id: id.id) { record in
            let bytes =
                record.isEncoded
                ? scratch.keep(record.bytes)
                : try record.encoded().bytes.withUnsafeBytes { scratch.keep($0) }
            (readers + place).initialize(to: AttributeReader(bytes, layout: layout))
        }
        entry.pointee = Kept(id: id, exists: exists, moment: moment.number)
        return place
    }
}

/// Where an attribute lies, worked out once: its record, its slot and its bit among the nulls.
struct AttributePlace {
    let source: RecordSource
    private let position: Int
    private let isOptional: Bool
    private let offset: Int
    private let nullByte: Int
    private let nullMask: UInt8

    init(_ source: RecordSource, position: Int, entity: EntityDescription) {
        self.source = source
        self.position = position
        isOptional = entity.attributes[position].isOptional
        offset = entity.layout.offsets[position]
        nullByte = RecordLayout.headerSize + position / 8
        nullMask = 1 << UInt8(position % 8)
    }

    /// The slot in an encoded record; nil for null.
    @inline(__always)
    private func slot(_ bytes: UnsafeRawBufferPointer, _ size: Int) throws -> UnsafeRawPointer? {
        guard let base = bytes.baseAddress, nullByte < bytes.count,
            base.load(fromByteOffset: nullByte, as: UInt8.self) & nullMask == 0
        else { return nil }
        guard offset &+ size <= bytes.count else { throw AttributeReader.outOfBounds }
        return base + offset
    }

    /// The variable part that a slot of an encoded record leads to.
    @inline(__always)
    private func variable(_ bytes: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        guard let slot = try slot(bytes, 8), let base = bytes.baseAddress else { return nil }
        let start = Int(UInt32(littleEndian: slot.loadUnaligned(as: UInt32.self)))
        let count = Int(UInt32(littleEndian: slot.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        guard start &+ count <= bytes.count else { throw AttributeReader.outOfBounds }
        return UnsafeRawBufferPointer(start: base + start, count: count)
    }

    /// Reads the column of a row that is not encoded; nil when it is null.
    @inline(__always)
    private func column<T>(
        _ reader: UnsafePointer<AttributeReader>,
        _ read: (AttributeColumns) throws -> T
    ) throws -> T? {
        guard let columns = reader.pointee.columns else { throw AttributeReader.outOfBounds }
        return try columns.lent { columns in
            guard try columns.isNull(position) else { return try read(columns) }
            // Where null is not allowed, reading it says so.
            if !isOptional { _ = try columns.value(position) }
            return nil
        }
    }

    // MARK: Whatever the kind

    /// Whether there is a value.
    @inline(__always)
    func isPresent(_ rows: FilterRows) throws -> Bool {
        guard let reader = try source.reader(rows) else { return false }
        guard reader.pointee.isEncoded else { return try column(reader) { _ in true } ?? false }
        return try slot(reader.pointee.bytes, 0) != nil
    }

    /// The value.
    func value(_ rows: FilterRows) throws -> Value {
        try source.reader(rows)?.pointee.value(at: position) ?? .null
    }

    // MARK: By kind

    /// A whole number.
    @inline(__always)
    func int(_ rows: FilterRows) throws -> Int64? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else { return try columnInt(reader) }
        return try slot(reader.pointee.bytes, 8).map { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
    }

    @inline(never)
    private func columnInt(_ reader: UnsafePointer<AttributeReader>) throws -> Int64? {
        try column(reader) { try $0.int(position) }
    }

    /// A truth value, as 1 or 0.
    @inline(__always)
    func bool(_ rows: FilterRows) throws -> Int64? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else { return try columnBool(reader) }
        return try slot(reader.pointee.bytes, 1).map { $0.load(as: UInt8.self) != 0 ? 1 : 0 }
    }

    @inline(never)
    private func columnBool(_ reader: UnsafePointer<AttributeReader>) throws -> Int64? {
        try column(reader) { try $0.bool(position) ? 1 : 0 }
    }

    /// A double, or the seconds of a date.
    @inline(__always)
    func double(_ rows: FilterRows) throws -> Double? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else { return try columnDouble(reader) }
        guard let slot = try slot(reader.pointee.bytes, 8) else { return nil }
        let number = Double(bitPattern: UInt64(littleEndian: slot.loadUnaligned(as: UInt64.self)))
        guard number.isFinite else { throw AttributeReader.outOfBounds }
        return number
    }

    @inline(never)
    private func columnDouble(_ reader: UnsafePointer<AttributeReader>) throws -> Double? {
        try column(reader) { try $0.double(position) }
    }

    /// An identifier.
    @inline(__always)
    func identifier(_ rows: FilterRows) throws -> IdentifierKey? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else { return try columnIdentifier(reader) }
        return try slot(reader.pointee.bytes, 16).map { IdentifierKey($0) }
    }

    @inline(never)
    private func columnIdentifier(_ reader: UnsafePointer<AttributeReader>) throws -> IdentifierKey? {
        try column(reader) { IdentifierKey(try $0.uuid(position)) }
    }

    /// The UTF-8 of a text.
    @inline(__always)
    func text(_ rows: FilterRows, _ scratch: FilterScratch) throws -> UnsafeRawBufferPointer? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else { return try columnText(reader, scratch) }
        return try variable(reader.pointee.bytes)
    }

    @inline(never)
    private func columnText(
        _ reader: UnsafePointer<AttributeReader>,
        _ scratch: FilterScratch
    ) throws -> UnsafeRawBufferPointer? {
        try column(reader) { scratch.keep(try $0.text(position)) }
    }

    /// Bytes.
    func data(_ rows: FilterRows, _ scratch: FilterScratch) throws -> UnsafeRawBufferPointer? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else {
            return try column(reader) { try $0.data(position).withUnsafeBytes { scratch.keep($0) } }
        }
        return try variable(reader.pointee.bytes)
    }

    /// The identifiers of a list of links, sixteen bytes each.
    func links(_ rows: FilterRows, _ scratch: FilterScratch) throws -> UnsafeRawBufferPointer? {
        guard let reader = try source.reader(rows) else { return nil }
        guard reader.pointee.isEncoded else {
            guard let columns = reader.pointee.columns else { throw AttributeReader.outOfBounds }
            return try columns.lent { try $0.links(position) }.withUnsafeBytes { scratch.keep($0) }
        }
        guard let links = try variable(reader.pointee.bytes) else { return nil }
        guard links.count % 16 == 0 else { throw AttributeReader.outOfBounds }
        return links
    }

    /// Whether a list of texts holds one; false for null.
    func list(_ rows: FilterRows, holds text: UnsafeRawBufferPointer) throws -> Bool {
        guard let reader = try source.reader(rows) else { return false }
        guard reader.pointee.isEncoded else {
            return try column(reader) { try $0.texts(position) }?.contains { element in
                var element = element
                return element.withUTF8 { ByteText.areEqual(UnsafeRawBufferPointer($0), text) }
            } ?? false
        }
        guard let list = try variable(reader.pointee.bytes) else { return false }
        guard list.count >= 4 else { throw AttributeReader.outOfBounds }
        var offset = 4
        for _ in 0..<UInt32(littleEndian: list.loadUnaligned(as: UInt32.self)) {
            guard offset &+ 4 <= list.count else { throw AttributeReader.outOfBounds }
            let count = Int(UInt32(littleEndian: list.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            guard offset &+ 4 &+ count <= list.count else { throw AttributeReader.outOfBounds }
            let element = UnsafeRawBufferPointer(rebasing: list[(offset &+ 4)..<(offset &+ 4 &+ count)])
            if ByteText.areEqual(element, text) { return true }
            offset &+= 4 &+ count
        }
        return false
    }
}
