import Foundation

/// Encoded records of one entity that are stored together, in the order in which they were given.
@_spi(Engines) public final class RecordBatch {
    /// The bytes and records at which a batch is written, so that a load of any size takes bounded memory. Larger batches are
    /// faster, because each is sorted separately.
    static let fullAtBytes = 16 << 20
    static let fullAtCount = 1 << 18

    private let layout: RecordLayout
    private let records = PackedBytes(capacity: 1 << 14)
    private let identifierPlace: Range<Int>
    private var sorted: [Int]?

    init(_ layout: RecordLayout) {
        self.layout = layout
        identifierPlace = layout.firstSlot..<layout.firstSlot + 16
    }

    /// The number of records.
    public var count: Int { records.count }

    /// Whether there are none.
    public var isEmpty: Bool { records.count == 0 }

    var isFull: Bool { records.byteCount >= Self.fullAtBytes || records.count >= Self.fullAtCount }

    /// A record; valid until the batch changes.
    public subscript(place: Int) -> RecordView { RecordView(trusting: records[place], layout: layout) }

    /// The bytes of a record's identifier.
    public func identifierBytes(at place: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: records[place][identifierPlace])
    }

    /// A record's identifier.
    public func identifier(at place: Int) -> UUID {
        identifierBytes(at: place).loadUnaligned(as: UUID.self)
    }

    /// The places of the records in the order of their identifiers.
    public var placesByIdentifier: [Int] {
        if let sorted { return sorted }
        let places = records.sortedPlaces(by: identifierPlace)
        sorted = places
        return places
    }

    /// The first record whose identifier another one before it has; nil when all differ.
    var firstRepeated: Int? {
        let places = placesByIdentifier
        var first: Int?
        for index in places.indices.dropFirst()
        where identifierBytes(at: places[index]).elementsEqual(identifierBytes(at: places[index - 1])) {
            first = min(first ?? Int.max, places[index])
        }
        return first
    }

    func append(_ record: RecordView) {
        records.append(record.bytes)
        sorted = nil
    }

    func removeAll() {
        records.removeAll()
        sorted = nil
    }
}
