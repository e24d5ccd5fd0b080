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

    /// The slots, in declared order: not an array, since reading one by its position counts references.
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
