/// The first records of an order among those offered one by one: all of them, or as many as are wanted, in which case no
/// more than twice as many are ever kept.
struct TopRecords {
    private struct Kept {
        let keys: [Value]
        let record: EncodedRecord
    }

    /// Fewer than this are not worth sorting in between.
    private static let leastCapacity = 512

    private let order: [BoundQuery.SortKey]
    private let wanted: Int?
    private var kept: [Kept] = []
    /// The sort keys of the last record within the limit; records after it are dropped.
    private var bound: [Value]?

    /// - Parameter wanted: how many, from the first; nil for all.
    init(order: [BoundQuery.SortKey], wanted: Int?) {
        self.order = order
        self.wanted = wanted
    }

    mutating func offer(_ row: borrowing AttributeReader) throws {
        if let bound, try !isBefore(row, bound) { return }
        kept.append(Kept(keys: try order.map { try row.value(at: $0.position) }, record: try row.encoded()))
        if let wanted, kept.count >= Self.leastCapacity, kept.count / 2 >= wanted { cut(to: wanted) }
    }

    /// The records that were kept, from the first.
    mutating func sorted() -> [EncodedRecord] {
        sort()
        return kept.prefix(wanted ?? Int.max).map(\.record)
    }

    private mutating func cut(to wanted: Int) {
        sort()
        kept.removeSubrange(wanted...)
        bound = kept.last?.keys
    }

    private mutating func sort() {
        let order = order
        kept.sort { left, right in
            for (place, key) in order.enumerated() {
                let result = left.keys[place].order(comparedWith: right.keys[place])
                if result != 0 { return (result < 0) == key.ascending }
            }
            return false
        }
    }

    /// Reads no more keys than it takes to tell.
    private func isBefore(_ row: borrowing AttributeReader, _ bound: [Value]) throws -> Bool {
        for (place, key) in order.enumerated() {
            let result = try row.value(at: key.position).order(comparedWith: bound[place])
            if result != 0 { return (result < 0) == key.ascending }
        }
        return false
    }
}
