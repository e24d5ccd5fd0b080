@_spi(Engines) import HabitStore

/// A query without its literals: the entity, the filter's structure, the order, whether there is a limit and an offset, which attributes are read,
/// and whether it asks for rows, a count or one record.
///
/// Parts of a predicate that Foundation evaluates are not examined: queries that differ only in those have one shape.
struct QueryShape: Sendable, Hashable {
    /// The kind of result.
    enum Kind: UInt64, Sendable {
        case rows = 1
        case count
        case record
        case preparation
    }

    /// A hash that is the same in every process.
    let key: UInt64

    /// The shape of a fetch.
    init(_ kind: Kind, _ query: BoundQuery) {
        var hasher = ShapeHasher()
        hasher.add(kind.rawValue)
        hasher.add(UInt64(query.entity))
        hasher.add(query.filter)
        for key in query.order { hasher.add(UInt64(key.position) &* 2 &+ (key.ascending ? 1 : 0)) }
        let flags = (query.limit == nil ? 0 : 1) + (query.offset == 0 ? 0 : 2) + (query.hasOpaqueCondition ? 4 : 0)
        hasher.add(UInt64(flags))
        if let projection = query.projection {
            hasher.add(UInt64(projection.count) &+ 1)
            for position in projection { hasher.add(UInt64(position)) }
        }
        key = hasher.value
    }

    /// The shape of a query without a filter.
    init(_ kind: Kind, entity: Int) {
        var hasher = ShapeHasher()
        hasher.add(kind.rawValue)
        hasher.add(UInt64(entity))
        key = hasher.value
    }
}

/// Mixes numbers into one. Fast, since every read uses it; not collision-resistant, since only the app chooses the input.
struct ShapeHasher {
    /// Never 0, which means no shape.
    var value: UInt64 { state | 1 }
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    @inline(__always)
    mutating func add(_ number: UInt64) {
        state = (state ^ number) &* 0xD6E8_FEB8_6659_FD93
        state ^= state &>> 32
    }
}
