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
    private let moment: FilterMoment
    private let kept: OwnedBuffer<Kept>
    private let readers: UnsafeMutablePointer<AttributeReader>
    private var memory: [FilterScratch?] = Array(repeating: nil, count: capacity)
    private var reads = 0

    init(
        _ reference: AttributePlace,
        destination: Int,
        layout: RecordLayout,
        records: any RelatedRecords,
        moment: FilterMoment
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
