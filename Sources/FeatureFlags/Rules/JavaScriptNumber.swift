/// A number as rules see it. JsonLogic has JavaScript's numbers, which are all floating-point; integers are kept
/// exact here, and two numbers are equal when they are mathematically equal.
package enum JavaScriptNumber: Sendable {
    case int(Int64)
    case double(Double)

    package static func == (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        switch (left, right) {
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.int(let integer), .double(let double)), (.double(let double), .int(let integer)):
            Int64(exactly: double) == integer
        }
    }

    /// ECMAScript's `Number::toString` in base 10.
    package var text: String {
        switch self {
        case .int(let value): String(value)
        case .double(let value): Self.text(of: value)
        }
    }
}

extension JavaScriptNumber {
    /// Swift and ECMAScript both choose the shortest digits that read back as the same number; they place the point
    /// and the exponent differently.
    private static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        if value == 0 { return "0" }
        let (digits, pointPosition) = shortestDigits(of: value.magnitude)
        return (value < 0 ? "-" : "") + placed(digits, pointPosition)
    }

    /// The significant digits, and how many of them stand before the point (it may be negative or past the last).
    private static func shortestDigits(of magnitude: Double) -> (digits: String, pointPosition: Int) {
        let parts = magnitude.description.split(separator: "e")
        let mantissa = parts.first ?? ""
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let dot = mantissa.firstIndex(of: ".") ?? mantissa.endIndex
        let integerDigits = mantissa.distance(from: mantissa.startIndex, to: dot)
        let all = mantissa.filter { $0 != "." }
        let leadingZeros = all.prefix { $0 == "0" }.count
        var digits = String(all.dropFirst(leadingZeros))
        while digits.last == "0" { digits.removeLast() }
        return (digits, integerDigits + exponent - leadingZeros)
    }

    private static func placed(_ digits: String, _ point: Int) -> String {
        let count = digits.count
        if point > 21 || point <= -6 {
            let exponent = point - 1
            let fraction = count > 1 ? "." + digits.dropFirst() : ""
            return digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + String(abs(exponent))
        }
        if point <= 0 { return "0." + String(repeating: "0", count: -point) + digits }
        if count <= point { return digits + String(repeating: "0", count: point - count) }
        return digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
