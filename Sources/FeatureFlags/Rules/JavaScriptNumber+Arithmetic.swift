/// JavaScript's arithmetic. Where both numbers are integers and the result fits, it is exact; else it is that of
/// floating-point numbers.
extension JavaScriptNumber {
    static func + (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        exactly(left, right) { $0.addingReportingOverflow($1) } ?? normalized(left.double + right.double)
    }

    static func - (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        exactly(left, right) { $0.subtractingReportingOverflow($1) } ?? normalized(left.double - right.double)
    }

    static func * (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        // 0 × -5 is -0.
        if case .int(let first) = left, case .int(let second) = right, first != 0, second != 0 {
            let (product, overflow) = first.multipliedReportingOverflow(by: second)
            if !overflow { return .int(product) }
        }
        return normalized(left.double * right.double)
    }

    static func / (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        normalized(left.double / right.double)
    }

    /// JavaScript's `%`, whose sign is that of the left side.
    static func % (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        if case .int(let first) = left, case .int(let second) = right, first >= 0, second > 0 {
            return .int(first % second)
        }
        return normalized(left.double.truncatingRemainder(dividingBy: right.double))
    }

    package static func < (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        if case .int(let first) = left, case .int(let second) = right { return first < second }
        return left.double < right.double
    }

    package static func <= (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        if case .int(let first) = left, case .int(let second) = right { return first <= second }
        return left.double <= right.double
    }

    static let notANumber = JavaScriptNumber.double(.nan)

    var negated: JavaScriptNumber {
        if case .int(let value) = self, value != 0, value != .min { return .int(-value) }
        return .double(-double)
    }

    package var double: Double {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        }
    }

    var flagValue: FlagValue {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        }
    }

    /// ECMAScript's `ToIntegerOrInfinity`, held within the range of an array's indexes.
    var index: Int {
        switch self {
        case .int(let value): return Int(clamping: value)
        case .double(let value):
            if value.isNaN { return 0 }
            return Int(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
        }
    }

    /// A whole number as an integer where it has an exact one, so that further arithmetic is exact too.
    static func normalized(_ value: Double) -> JavaScriptNumber {
        guard value.magnitude < 0x1p53, value.rounded(.towardZero) == value, value != 0 || value.sign == .plus
        else { return .double(value) }
        return .int(Int64(value))
    }

    private static func exactly(
        _ left: JavaScriptNumber,
        _ right: JavaScriptNumber,
        _ operation: (Int64, Int64) -> (partialValue: Int64, overflow: Bool)
    ) -> JavaScriptNumber? {
        guard case .int(let first) = left, case .int(let second) = right else { return nil }
        let (value, overflow) = operation(first, second)
        return overflow ? nil : .int(value)
    }
}
