@_spi(Engines) import HabitStore
import Synchronization

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

extension ShapeHasher {
    /// Adds a filter without its literals. The value of a boolean, and whether a literal is nil, are part of the structure.
    mutating func add(_ filter: BoundExpression) {
        switch filter {
        case .literal(let value): add(value)
        case .attribute(let path, let position, _, _):
            add(2)
            add(path)
            add(UInt64(position))
        case .exists(let path):
            add(3)
            add(path)
        case .not(let part): add(4, [part])
        case .and(let parts): add(5, parts)
        case .or(let parts): add(6, parts)
        case .compare(let comparison, let left, let right):
            add(comparison.number)
            add(7, [left, right])
        case .isIn(let part, _): add(8, [part])
        case .text(let test, let left, let right):
            add(test.number)
            add(9, [left, right])
        case .some(let collection, let condition): add(10, collection, condition)
        case .every(let collection, let condition): add(11, collection, condition)
        case .count(let collection, let condition): add(12, collection, condition)
        case .length(let part): add(13, [part])
        case .coalesce(let first, let second): add(14, [first, second])
        case .conditional(let test, let first, let second): add(15, [test, first, second])
        case .least(let part): add(16, [part])
        case .greatest(let part): add(17, [part])
        case .caseInsensitiveOrder(let left, let right): add(18, [left, right])
        case .arithmetic(let operation, let left, let right):
            add(operation.number)
            add(19, [left, right])
        }
    }

    private mutating func add(_ tag: UInt64, _ parts: [BoundExpression]) {
        add(tag &+ UInt64(parts.count) &<< 8)
        for part in parts { add(part) }
    }

    private mutating func add(_ tag: UInt64, _ collection: BoundCollection, _ condition: BoundExpression) {
        add(tag)
        add(collection.path)
        switch collection.storage {
        case .referring(let attribute): add(UInt64(attribute) &* 3)
        case .linked(let attribute): add(UInt64(attribute) &* 3 &+ 1)
        case .linking(let attribute): add(UInt64(attribute) &* 3 &+ 2)
        }
        add(condition)
    }

    private mutating func add(_ path: BoundPath) {
        add(UInt64(path.variable) &+ UInt64(path.hops.count) &<< 8)
        for hop in path.hops { add(UInt64(hop.attribute)) }
    }

    private mutating func add(_ literal: Value) {
        switch literal {
        case .null: add(20)
        case .bool(let flag): add(flag ? 22 : 21)
        case .int: add(23)
        case .double: add(24)
        case .string: add(25)
        case .date: add(26)
        case .uuid: add(27)
        case .data: add(28)
        case .strings: add(29)
        case .links: add(30)
        }
    }
}

extension FilterExpression.Comparison {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .equal: 1
        case .notEqual: 2
        case .less: 3
        case .lessOrEqual: 4
        case .greater: 5
        case .greaterOrEqual: 6
        }
    }
}

extension FilterExpression.TextTest {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .contains: 1
        case .beginsWith: 2
        case .endsWith: 3
        case .searches: 4
        }
    }
}

extension FilterExpression.Arithmetic {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .add: 1
        case .subtract: 2
        case .multiply: 3
        case .divide: 4
        case .remainder: 5
        }
    }
}

/// Decides which queries to compare: see ``ShadowReadOptions``.
///
/// Each of ``shapeLimit`` shapes has its own count; further shapes share one. `@unchecked`: the slots are atomic.
final class ShapeSampler: @unchecked Sendable {
    /// The number of shapes with their own count.
    static let shapeLimit = 256
    /// How many slots to probe for a shape.
    private static let probeLimit = 32

    private struct Slot: ~Copyable {
        /// The shape; 0 for an empty slot.
        let shape = Atomic<UInt64>(0)
        let questions = Atomic<UInt64>(0)
    }

    private let oneIn: UInt64
    private let salt: UInt64
    // One more slot than shapes: the last one is shared by shapes that found no other. The memory lives as long as this object.
    private let slots: UnsafeMutablePointer<Slot>

    init(oneIn: Int, seed: UInt64, user: String) {
        self.oneIn = UInt64(max(1, oneIn))
        salt = seed ^ Array(user.utf8).withUnsafeBytes { XXHash64.hash($0, seed: 0) }
        slots = .allocate(capacity: Self.shapeLimit + 1)
        for place in 0...Self.shapeLimit { (slots + place).initialize(to: Slot()) }
    }

    deinit {
        slots.deinitialize(count: Self.shapeLimit + 1)
        slots.deallocate()
    }

    /// Whether to compare the next query of a shape. Does not compute the shape if all are compared.
    @inline(__always)
    func samples(_ shape: @autoclosure () -> QueryShape) -> Bool { oneIn == 1 || counts(shape().key) }

    private func counts(_ shape: UInt64) -> Bool {
        let number = (slots + place(of: shape)).pointee.questions.add(1, ordering: .relaxed).oldValue
        let (block, place) = number.quotientAndRemainder(dividingBy: oneIn)
        return place == Self.mixed(salt &+ Self.mixed(shape &+ Self.mixed(block))) % oneIn
    }

    private func place(of shape: UInt64) -> Int {
        var place = Int(truncatingIfNeeded: shape &>> 32) & (Self.shapeLimit - 1)
        for _ in 0..<Self.probeLimit {
            var found = (slots + place).pointee.shape.load(ordering: .relaxed)
            if found == 0 {
                found =
                    (slots + place).pointee.shape
                    .compareExchange(expected: 0, desired: shape, ordering: .relaxed).original
                if found == 0 { return place }
            }
            if found == shape { return place }
            place = (place + 1) & (Self.shapeLimit - 1)
        }
        return Self.shapeLimit
    }

    /// SplitMix64's last step (Steele, Lea and Flood, OOPSLA 2014).
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed &>> 31)
    }
}
