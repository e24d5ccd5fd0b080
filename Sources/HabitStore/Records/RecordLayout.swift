import Foundation

/// Where each attribute lies in an encoded record. The format is in the article *On-disk formats*:
///
/// ```
/// byte 0      format version, 1
/// byte 1      0
/// bytes 2–3   number of attributes, u16
/// bytes 4–7   checksum: low 32 bits of the 64-bit XXH3 hash over bytes 8 and up
/// then        null bitmap, one bit an attribute, least significant first, rounded up to bytes
/// then        one slot an attribute: bool 1, int 8, double 8, date 8, uuid 16,
///             others 8 (u32 offset from the record's start, u32 length)
/// then        the variable parts, in the order of the attributes, without gaps
/// ```
/// All numbers are little-endian. A null attribute's slot is zero. Equal records have equal bytes.
public final class RecordLayout: Sendable {
    /// The current format version.
    @_spi(Engines) public static let formatVersion: UInt8 = 1
    /// Bytes before the null bitmap.
    public static let headerSize = 8

    /// The kinds, in declared order.
    @_spi(Engines) public let kinds: [AttributeKind]
    /// The offset of each attribute's slot.
    @_spi(Engines) public let offsets: [Int]
    /// Bytes up to the first variable part.
    @_spi(Engines) public let fixedSize: Int
    /// The offset of the first slot, after the null bitmap.
    public let firstSlot: Int
    /// The number of attributes.
    public let attributeCount: Int
    /// How large values may be.
    let limits: RecordLimits

    /// Where an attribute lies.
    struct Slot: BitwiseCopyable {
        let offset: Int
        /// The bytes of its value; 0 when the slot leads to a variable part.
        let size: Int
    }

    /// The slots, in declared order: not an array, since reading one by its position counts references. Nothing changes them after `init`.
    nonisolated(unsafe) let slots: UnsafePointer<Slot>

    /// Lays out attributes of these kinds.
    @_spi(Engines) public convenience init(kinds: [AttributeKind]) { self.init(kinds: kinds, limits: RecordLimits()) }

    init(kinds: [AttributeKind], limits: RecordLimits) {
        self.kinds = kinds
        self.limits = limits
        attributeCount = kinds.count
        firstSlot = Self.headerSize + Self.bitmapSize(kinds.count)
        var offset = firstSlot
        var offsets: [Int] = []
        for kind in kinds {
            offsets.append(offset)
            offset += Self.slotSize(kind)
        }
        self.offsets = offsets
        fixedSize = offset
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: max(1, kinds.count))
        for (place, kind) in kinds.enumerated() {
            let slot = Slot(offset: offsets[place], size: kind.isVariable ? 0 : Self.slotSize(kind))
            (slots + place).initialize(to: slot)
        }
        self.slots = UnsafePointer(slots)
    }

    deinit { slots.deallocate() }

    @usableFromInline
    static func bitmapSize(_ count: Int) -> Int { (count + 7) / 8 }

    @inlinable
    static func slotSize(_ kind: AttributeKind) -> Int {
        switch kind {
        case .bool: return 1
        case .int, .double, .date: return 8
        case .uuid: return 16
        case .string, .data, .strings, .links: return 8
        }
    }
}

extension AttributeKind {
    /// Whether values differ in their lengths.
    fileprivate var isVariable: Bool {
        switch self {
        case .bool, .int, .double, .date, .uuid: false
        case .string, .data, .strings, .links: true
        }
    }
}

/// The maximum sizes of an entity's values in bytes: the same for all engines.
///
/// They are below the engines' own limits: SQLite's rows have at most 1,000,000,000 bytes, PostgreSQL's values and messages
/// slightly more, and the offsets in an encoded record have 32 bits. Values that are stored as JSON anywhere, where a byte can
/// become six, are limited to a sixth.
package struct RecordLimits: Sendable {
    /// The most bytes of a record, and so of a value.
    package static let largestRecord = 500_000_000
    /// How many bytes of JSON one byte can become, as `\u0000` does.
    private static let growthInJSON = 6

    /// The entity and its attributes, for errors.
    private let entity: String?
    private let attributes: [String]
    private let record: Int
    /// Whether an attribute's values are written as JSON: lists of texts, and what is preserved on deletion.
    private let isJSON: [Bool]

    /// Limits of records whose entity is not known.
    init() { (entity, attributes, record, isJSON) = (nil, [], Self.largestRecord, []) }

    init(_ entity: String, _ attributes: [AttributeDescription], record: Int = Self.largestRecord) {
        (self.entity, self.record) = (entity, record)
        self.attributes = attributes.map(\.name)
        isJSON = attributes.map { $0.kind == .strings || $0.preservesValueOnDeletion }
    }

    /// Bytes that a record may have in any case, so that those of nearly all need not be looked at.
    var unquestioned: Int { record / Self.growthInJSON }

    private func limit(at position: Int) -> Int {
        isJSON.indices.contains(position) && isJSON[position] ? unquestioned : record
    }

    /// Whether a value is too large, or makes its record so.
    func isExceeded(byValueOf count: Int, at position: Int, recordBytes: Int) -> Bool {
        count > limit(at: position) || recordBytes > record
    }

    /// The error for a value that is too large, or makes its record so.
    func error(valueOf count: Int, at position: Int, recordBytes: Int, id: UUID?) -> HabitStoreError {
        let attribute = attributes.indices.contains(position) ? attributes[position] : nil
        let title = "\(entity.map { "\($0)." } ?? "")\(attribute ?? "attribute \(position + 1)")"
        let limit = limit(at: position)
        let excess =
            count > limit
            ? "\(title) has \(count) bytes, and \(limit < record ? "a value that is also kept as JSON" : "a value") may have \(limit)"
            : "with the \(count) bytes of \(title) the record has \(recordBytes), and a record may have \(record)"
        return HabitStoreError(
            .limitExceeded,
            "\(excess); keep what is so large in a file, and its name in the store",
            at: .init(entity: entity, attribute: attribute, id: id)
        )
    }
}

/// The checksum that every encoded record carries in its bytes 4 to 7.
@usableFromInline
enum RecordChecksum {
    /// The low 32 bits of XXH3 over bytes 8 and up. (The bytes before are compared with what they must be.)
    ///
    /// - Precondition: the record has at least ``RecordLayout/headerSize`` bytes.
    @usableFromInline
    static func compute(_ record: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = record.baseAddress else { return 0 }
        let count = record.count - RecordLayout.headerSize
        return UInt32(truncatingIfNeeded: XXHash3.hash(base + RecordLayout.headerSize, count: count))
    }
}

/// An encoded record that owns its bytes.
@_spi(Engines) public struct EncodedRecord: Sendable, Equatable {
    /// The bytes, as ``RecordLayout`` describes them.
    public let bytes: [UInt8]

    /// Keeps a copy of encoded bytes.
    public init(copying bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

    /// Encodes values that are given in the order of the layout.
    public init(_ values: [Value], layout: RecordLayout) throws {
        var writer = AttributeWriter(layout: layout)
        for value in values { try writer.append(value: value) }
        self = try writer.finish { EncodedRecord(copying: $0) }
    }

    /// Lends a view of the record.
    public func withView<R>(_ layout: RecordLayout, _ body: (RecordView) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes { try body(RecordView(trusting: $0, layout: layout)) }
    }

    /// The record with its texts in NFC; the record itself where they are.
    func inNFC(_ layout: RecordLayout) throws -> EncodedRecord {
        let isInNFC = try withView(layout) { view in
            try layout.kinds.indices.allSatisfy { try view.isTextInNFC(at: $0) }
        }
        return isInNFC ? self : try EncodedRecord(values(layout), layout: layout)
    }

    /// All values, in the order of the layout.
    public func values(_ layout: RecordLayout) throws -> [Value] {
        try withView(layout) { view in
            try layout.kinds.indices.map { try view.value(at: $0) }
        }
    }
}
