/// A condition that bounds a number: `value >= 2`, and with its neighbour `value >= 2 AND value < 5`.
struct AttributeRange {
    /// The numbers that are let through.
    enum Numbers {
        case ints(FilterRange<Int64>)
        case doubles(FilterRange<Double>)
    }

    /// The attribute, at the end of whatever path.
    let attribute: BoundExpression
    /// The values in the range.
    let numbers: Numbers

    private init(_ attribute: BoundExpression, _ numbers: Numbers) {
        self.attribute = attribute
        self.numbers = numbers
    }

    /// The range of a comparison of an attribute with a constant number; nil for other conditions.
    init?(_ condition: BoundExpression) {
        guard case .compare(let comparison, let left, let right) = condition else { return nil }
        switch (left, right) {
        case (.attribute(_, _, let kind, _), .literal(let value)): self.init(left, kind, comparison, value)
        case (.literal(let value), .attribute(_, _, let kind, _)): self.init(right, kind, comparison.turned, value)
        default: return nil
        }
    }

    private init?(
        _ attribute: BoundExpression,
        _ kind: AttributeKind,
        _ comparison: FilterExpression.Comparison,
        _ value: Value
    ) {
        switch (kind, value) {
        case (.int, .int(let number)): self.init(attribute, .ints(FilterRange(comparison, number)))
        case (.double, .double(let number)) where number.isFinite:
            self.init(attribute, .doubles(FilterRange(comparison, number)))
        case (.date, .date(let date)) where date.timeIntervalSinceReferenceDate.isFinite:
            self.init(attribute, .doubles(FilterRange(comparison, date.timeIntervalSinceReferenceDate)))
        default: return nil
        }
    }

    /// Both conditions in one; nil if they concern different attributes or do not form a range.
    func intersection(_ other: AttributeRange?) -> AttributeRange? {
        guard let other, other.attribute == attribute else { return nil }
        switch (numbers, other.numbers) {
        case (.ints(let mine), .ints(let others)):
            return mine.intersection(others).map { AttributeRange(attribute, .ints($0)) }
        case (.doubles(let mine), .doubles(let others)):
            return mine.intersection(others).map { AttributeRange(attribute, .doubles($0)) }
        default: return nil
        }
    }
}
