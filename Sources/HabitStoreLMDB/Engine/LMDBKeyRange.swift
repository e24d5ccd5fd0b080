/// Keys from `lower` up to and without `upper`.
struct LMDBKeyRange: Equatable, Sendable {
    /// The least key; empty for no bound.
    var lower: [UInt8]
    /// Behind the greatest key; nil for no bound.
    var upper: [UInt8]?

    /// Every key.
    static let all = LMDBKeyRange(lower: [], upper: nil)

    init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key with a prefix.
    init(prefix: [UInt8]) {
        lower = prefix
        upper = LMDBTransaction.successor(ofPrefix: prefix)
    }

    var isEmpty: Bool {
        guard let upper else { return false }
        return !LMDBKeyOrder.isBefore(lower, upper)
    }

    /// Whether nothing is left out.
    var isAll: Bool { lower.isEmpty && upper == nil }

    /// The keys that are in both.
    func intersection(_ other: LMDBKeyRange) -> LMDBKeyRange {
        let upper: [UInt8]?
        switch (self.upper, other.upper) {
        case (nil, let bound), (let bound, nil): upper = bound
        case (let first?, let second?): upper = LMDBKeyOrder.isBefore(first, second) ? first : second
        }
        return LMDBKeyRange(
            lower: LMDBKeyOrder.isBefore(lower, other.lower) ? other.lower : lower,
            upper: upper
        )
    }

    /// The keys that are in one of both lists, as disjoint ranges in ascending order.
    static func union(_ ranges: [LMDBKeyRange]) -> [LMDBKeyRange] {
        var result: [LMDBKeyRange] = []
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { LMDBKeyOrder.isBefore($0.lower, $1.lower) }) {
            guard let last = result.last, let end = last.upper else {
                if result.isEmpty { result.append(range) }
                continue
            }
            // Ranges that only touch stay apart: each may be one value of a list.
            guard LMDBKeyOrder.isBefore(range.lower, end) else {
                result.append(range)
                continue
            }
            if let upper = range.upper, !LMDBKeyOrder.isBefore(end, upper) { continue }
            result[result.count - 1].upper = range.upper
        }
        return result
    }

    /// The keys that are in both of two lists of disjoint ranges in ascending order, as such a list.
    static func intersection(_ left: [LMDBKeyRange], _ right: [LMDBKeyRange]) -> [LMDBKeyRange] {
        var result: [LMDBKeyRange] = []
        var (first, second) = (0, 0)
        while first < left.count, second < right.count {
            let both = left[first].intersection(right[second])
            if !both.isEmpty { result.append(both) }
            // The one that ends first meets nothing further on.
            if left[first].endsBefore(right[second]) { first += 1 } else { second += 1 }
        }
        return result
    }

    private func endsBefore(_ other: LMDBKeyRange) -> Bool {
        guard let upper else { return false }
        return other.upper.map { LMDBKeyOrder.isBefore(upper, $0) } ?? true
    }

    /// The keys whose beginning is the single value that `value` stands for, and whose rest is in this range.
    func behind(_ value: LMDBKeyRange) -> LMDBKeyRange {
        LMDBKeyRange(lower: value.lower + lower, upper: upper.map { value.lower + $0 } ?? value.upper)
    }
}
