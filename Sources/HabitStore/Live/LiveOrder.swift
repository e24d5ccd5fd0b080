import Foundation

/// The total order of a live query, over what its rows keep of their records.
struct LiveOrder: Sendable {
    private let order: [BoundQuery.SortKey]
    /// The attributes whose values a row keeps: those of the order up to the identifier, which decides every tie.
    let kept: [Int]

    init(_ order: [BoundQuery.SortKey]) {
        self.order = order
        kept = order.prefix { $0.position != 0 }.map(\.position)
    }

    /// The values that a row keeps of a record.
    func keys(of row: borrowing AttributeReader) throws -> [Value] {
        guard !kept.isEmpty else { return [] }
        return try kept.map { try row.value(at: $0) }
    }

    /// Where a record stands, or would stand, among others that are in order.
    func place(
        of record: (keys: [Value], id: UUID),
        among keys: ContiguousArray<[Value]>,
        _ ids: ContiguousArray<UUID>
    ) -> Int {
        ids.indices.partitioningIndex { !isBefore((keys[$0], ids[$0]), record) }
    }

    /// Whether one record stands before another one.
    func isBefore(_ left: (keys: [Value], id: UUID), _ right: (keys: [Value], id: UUID)) -> Bool {
        for (place, key) in order.enumerated() {
            guard place < kept.count else {
                let result = left.id.order(comparedWith: right.id)
                return result != 0 && (result < 0) == key.ascending
            }
            let result = left.keys[place].order(comparedWith: right.keys[place])
            if result != 0 {
                return (result < 0) == (key.ascending || place == 0 && LiveMutant.isPlanted(.lostDirection))
            }
        }
        return false
    }
}
