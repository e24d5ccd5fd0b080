@_spi(Engines) import HabitStore

/// What a question is without its literals: the entity, the filter's structure, the order, whether there is a limit and an
/// offset, what is read of each record, and whether rows, a count or one record are asked for.
///
/// What of a predicate is left to Foundation is not looked into: questions that differ in nothing else have one shape.
struct QueryShape: Sendable, Hashable {
    /// What is asked for.
    enum Kind: UInt64, Sendable {
        case rows = 1
        case count
        case record
        case preparation
    }

    /// The same in every process.
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

    /// The shape of a question that has no filter.
    init(_ kind: Kind, entity: Int) {
        var hasher = ShapeHasher()
        hasher.add(kind.rawValue)
        hasher.add(UInt64(entity))
        key = hasher.value
    }
}

/// Mixes numbers into one. It is on the path of every read, and nobody but the app can choose what goes in.
struct ShapeHasher {
    /// Never 0, which stands for no shape.
    var value: UInt64 { state | 1 }
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    @inline(__always)
    mutating func add(_ number: UInt64) {
        state = (state ^ number) &* 0xD6E8_FEB8_6659_FD93
        state ^= state &>> 32
    }
}
