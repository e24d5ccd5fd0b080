/// A version by Semantic Versioning 2.0.0, as flagd reads it: `v` or `V` may stand in front, a missing minor or patch
/// version is 0, and build metadata is ignored. Numbers may be of any length.
package struct SemanticVersion: Sendable {
    private var major = Number()
    private var minor = Number()
    private var patch = Number()
    /// The identifiers of the pre-release; empty for a release.
    private var prerelease: [[UInt8]] = []

    /// Nil for a text that is not a version.
    package init?(_ text: String) {
        var text = text
        let isVersion = text.withUTF8 { bytes in
            var rest = bytes[...]
            return read(&rest) && rest.isEmpty
        }
        guard isVersion else { return nil }
    }

    /// Less than, equal to or greater than 0, as this version is older, of the same precedence, or newer.
    package func compare(_ other: SemanticVersion) -> Int {
        if major != other.major { return major < other.major ? -1 : 1 }
        if minor != other.minor { return minor < other.minor ? -1 : 1 }
        if patch != other.patch { return patch < other.patch ? -1 : 1 }
        if prerelease.isEmpty || other.prerelease.isEmpty {
            return (prerelease.isEmpty ? 1 : 0) - (other.prerelease.isEmpty ? 1 : 0)
        }
        for (left, right) in zip(prerelease, other.prerelease) {
            let order = Self.compareIdentifiers(left, right)
            if order != 0 { return order }
        }
        return prerelease.count - other.prerelease.count
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    /// Digits without a leading zero.
    private struct Number: Sendable, Comparable {
        private var value: UInt64 = 0
        /// The digits of a number that does not fit.
        private var digits: [UInt8] = []

        private static let fittingDigits = 19

        init() {}

        init?(_ rest: inout Bytes) {
            let digits = rest.prefix(while: SemanticVersion.isDigit)
            guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
            if digits.count <= Self.fittingDigits {
                for digit in digits { value = value * 10 + UInt64(digit & 0x0F) }
            } else {
                self.digits = Array(digits)
            }
            rest = rest.dropFirst(digits.count)
        }

        static func < (left: Number, right: Number) -> Bool {
            if left.digits.isEmpty && right.digits.isEmpty { return left.value < right.value }
            if left.digits.count != right.digits.count { return left.digits.count < right.digits.count }
            return left.digits.lexicographicallyPrecedes(right.digits)
        }
    }

    private mutating func read(_ rest: inout Bytes) -> Bool {
        if let first = rest.first, first | 0x20 == UInt8(ascii: "v") { rest = rest.dropFirst() }
        guard let first = Number(&rest) else { return false }
        major = first
        if rest.isEmpty { return true }
        guard Self.take(".", &rest), let second = Number(&rest) else { return false }
        minor = second
        if rest.isEmpty { return true }
        guard Self.take(".", &rest), let third = Number(&rest) else { return false }
        patch = third
        if Self.take("-", &rest) {
            guard let identifiers = Self.identifiers(&rest, areNumbersPlain: true) else { return false }
            prerelease = identifiers
        }
        return Self.take("+", &rest) ? Self.identifiers(&rest, areNumbersPlain: false) != nil : true
    }

    private static func take(_ character: Unicode.Scalar, _ rest: inout Bytes) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Identifiers of letters, digits and hyphens, with dots between them. In a pre-release a number has no leading
    /// zero.
    private static func identifiers(_ rest: inout Bytes, areNumbersPlain: Bool) -> [[UInt8]]? {
        var identifiers: [[UInt8]] = []
        repeat {
            let identifier = rest.prefix { byte in
                let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                return isDigit(byte) || isLetter || byte == UInt8(ascii: "-")
            }
            guard let first = identifier.first else { return nil }
            let isPadded = first == UInt8(ascii: "0") && identifier.count > 1 && identifier.allSatisfy(isDigit)
            if areNumbersPlain && isPadded { return nil }
            identifiers.append(Array(identifier))
            rest = rest.dropFirst(identifier.count)
        } while take(".", &rest)
        return identifiers
    }

    /// Numbers come before words; numbers are compared as such, and words by their bytes.
    private static func compareIdentifiers(_ left: [UInt8], _ right: [UInt8]) -> Int {
        switch (left.allSatisfy(isDigit), right.allSatisfy(isDigit)) {
        case (true, true) where left.count != right.count: return left.count - right.count
        case (true, false): return -1
        case (false, true): return 1
        default:
            if left.lexicographicallyPrecedes(right) { return -1 }
            return right.lexicographicallyPrecedes(left) ? 1 : 0
        }
    }
}

extension ComparisonOperators {
    /// `{"sem_ver": [version, operator, version]}`: a comparison by the rules of Semantic Versioning 2.0.0, with the
    /// operators of ``SemanticVersion/Comparison``.
    ///
    /// Anything but three arguments, two versions (see ``SemanticVersion``) and a known operator gives null.
    static func versions(_ call: RuleCall) -> RuleOperator.Body {
        // The right side is read once where it stands in the file.
        let fixed: SemanticVersion? =
            if call.arguments.count == 3, case .literal(let value) = call.arguments[2] {
                SemanticVersion(value)
            } else {
                nil
            }
        return { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count == 3 else { return .null }
            let leftValue = try arguments[0].readValue(&evaluation)
            guard case .string(let name) = try arguments[1].evaluate(&evaluation),
                let left = SemanticVersion(leftValue),
                let right = fixed == nil ? SemanticVersion(try arguments[2].readValue(&evaluation)) : fixed,
                let comparison = SemanticVersion.Comparison(rawValue: name)
            else { return .null }
            return .bool(comparison.holds(left, right))
        }
    }
}

extension SemanticVersion {
    /// The version in a value of a rule: a text, or a number's text.
    package init?(_ value: FlagValue) {
        switch value {
        case .string(let text): self.init(text)
        case .int, .double: self.init(value.javaScriptText)
        case .null, .bool, .list, .object: return nil
        }
    }

    /// The operators of `sem_ver`.
    package enum Comparison: String {
        case equal = "="
        case unequal = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        /// The same major and minor version.
        case sameMinor = "~"
        /// The same major version.
        case sameMajor = "^"

        func holds(_ left: SemanticVersion, _ right: SemanticVersion) -> Bool {
            switch self {
            case .equal: left.compare(right) == 0
            case .unequal: left.compare(right) != 0
            case .less: left.compare(right) < 0
            case .lessOrEqual: left.compare(right) <= 0
            case .greater: left.compare(right) > 0
            case .greaterOrEqual: left.compare(right) >= 0
            case .sameMinor: left.major == right.major && left.minor == right.minor
            case .sameMajor: left.major == right.major
            }
        }
    }
}
