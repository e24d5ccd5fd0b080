/// The keys from `lower` up to but not including `upper`.
package struct KeyRange: Equatable, Sendable {
    /// The least key; empty for no bound.
    package var lower: [UInt8]
    /// The bound after the greatest key; nil for no bound.
    package var upper: [UInt8]?

    /// Every key.
    package static let all = KeyRange(lower: [], upper: nil)

    package init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key with a prefix.
    package init(prefix: [UInt8]) {
        lower = prefix
        upper = KeyOrder.successor(ofPrefix: prefix)
    }

    package var isEmpty: Bool {
        guard let upper else { return false }
        return !KeyOrder.isBefore(lower, upper)
    }

    /// Whether the range has every key.
    package var isAll: Bool { lower.isEmpty && upper == nil }

    /// The keys in both ranges.
    package func intersection(_ other: KeyRange) -> KeyRange {
        let upper: [UInt8]?
        switch (self.upper, other.upper) {
        case (nil, let bound), (let bound, nil): upper = bound
        case (let first?, let second?): upper = KeyOrder.isBefore(first, second) ? first : second
        }
        return KeyRange(
            lower: KeyOrder.isBefore(lower, other.lower) ? other.lower : lower,
            upper: upper
        )
    }

    /// The keys in any of the ranges, as disjoint ranges in ascending order.
    package static func union(_ ranges: [KeyRange]) -> [KeyRange] {
        var result: [KeyRange] = []
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { KeyOrder.isBefore($0.lower, $1.lower) }) {
            guard let last = result.last, let end = last.upper else {
                if result.isEmpty { result.append(range) }
                continue
            }
            // Ranges that only touch stay separate: each may be one value of a list.
            guard KeyOrder.isBefore(range.lower, end) else {
                result.append(range)
                continue
            }
            if let upper = range.upper, !KeyOrder.isBefore(end, upper) { continue }
            result[result.count - 1].upper = range.upper
        }
        return result
    }

    /// The keys in both of two lists of disjoint, ascending ranges, as another such list.
    package static func intersection(_ left: [KeyRange], _ right: [KeyRange]) -> [KeyRange] {
        var result: [KeyRange] = []
        var (first, second) = (0, 0)
        while first < left.count, second < right.count {
            let both = left[first].intersection(right[second])
            if !both.isEmpty { result.append(both) }
            // The range that ends first cannot overlap any later one.
            if left[first].endsBefore(right[second]) { first += 1 } else { second += 1 }
        }
        return result
    }

    private func endsBefore(_ other: KeyRange) -> Bool {
        guard let upper else { return false }
        return other.upper.map { KeyOrder.isBefore(upper, $0) } ?? true
    }

    /// The keys that begin with the single value that `value` represents and continue with a key of this range.
    package func behind(_ value: KeyRange) -> KeyRange {
        KeyRange(lower: value.lower + lower, upper: upper.map { value.lower + $0 } ?? value.upper)
    }
}
