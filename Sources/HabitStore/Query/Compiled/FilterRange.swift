/// The numbers that a comparison with a constant lets through: those from one to another, or those outside of them.
struct FilterRange<Number: Comparable & BitwiseCopyable> {
    /// The least.
    var least: Number
    /// The greatest; less than the least when there is no such number.
    var greatest: Number
    /// Whether the others are let through, and nil with them.
    var isInverted = false

    /// Whether a value is let through.
    @inline(__always)
    func holds(_ value: Number?) -> Bool {
        guard let value else { return isInverted }
        return (value >= least && value <= greatest) != isInverted
    }

    /// The values in both ranges; nil if they are not a range.
    func intersection(_ other: FilterRange) -> FilterRange? {
        guard !isInverted, !other.isInverted else { return nil }
        return FilterRange(least: max(least, other.least), greatest: min(greatest, other.greatest))
    }
}

extension FilterRange where Number == Int64 {
    /// The values that satisfy a comparison with a constant on its right side.
    init(_ comparison: FilterExpression.Comparison, _ constant: Int64) {
        let none = FilterRange(least: 1, greatest: 0)
        switch comparison {
        case .equal: self.init(least: constant, greatest: constant)
        case .notEqual: self.init(least: constant, greatest: constant, isInverted: true)
        case .less: self = constant == .min ? none : .init(least: .min, greatest: constant - 1)
        case .lessOrEqual: self.init(least: .min, greatest: constant)
        case .greater: self = constant == .max ? none : .init(least: constant + 1, greatest: .max)
        case .greaterOrEqual: self.init(least: constant, greatest: .max)
        }
    }
}

extension FilterRange where Number == Double {
    /// The values that satisfy a comparison with a finite constant on its right side. As in IEEE 754, NaN satisfies only `!=`.
    init(_ comparison: FilterExpression.Comparison, _ constant: Double) {
        switch comparison {
        case .equal: self.init(least: constant, greatest: constant)
        case .notEqual: self.init(least: constant, greatest: constant, isInverted: true)
        case .less: self.init(least: -.infinity, greatest: constant.nextDown)
        case .lessOrEqual: self.init(least: -.infinity, greatest: constant)
        case .greater: self.init(least: constant.nextUp, greatest: .infinity)
        case .greaterOrEqual: self.init(least: constant, greatest: .infinity)
        }
    }
}
