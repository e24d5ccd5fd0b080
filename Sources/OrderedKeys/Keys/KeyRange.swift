import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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

/// The order of keys: by bytes, with a prefix first.
package enum KeyOrder {
    package static func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { isBefore(left, $0) } }
    }

    @inlinable
    @inline(__always)
    package static func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let shared = min(left.count, right.count)
        if shared > 0, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress {
            let order = memcmp(leftBytes, rightBytes, shared)
            if order != 0 { return order < 0 }
        }
        return left.count < right.count
    }

    @inlinable
    @inline(__always)
    package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress else {
            return left.count == right.count
        }
        return memcmp(leftBytes, rightBytes, left.count) == 0
    }

    /// The least key that is greater than every key with this prefix; nil if there is none.
    package static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var successor = prefix
        while let last = successor.last {
            if last < UInt8.max {
                successor[successor.count - 1] = last + 1
                return successor
            }
            successor.removeLast()
        }
        return nil
    }
}

/// The keys of one attribute after a fixed prefix: translates conditions on the attribute to key ranges.
struct KeyDomain {
    /// Key ranges, and whether they select exactly the records that meet the condition.
    struct Selection {
        var ranges: [KeyRange]
        var isExact: Bool
        /// Whether the ranges are single values.
        var isPoints: Bool

        /// Whether every key is selected.
        var isAll: Bool { ranges.count == 1 && ranges[0].isAll }
    }

    /// The part of the key before the attribute.
    let prefix: [UInt8]
    let position: Int
    let kind: AttributeKind
    let isOptional: Bool
    let budget: Int
    /// Whether a presence byte precedes the value: true in indexes, but not in an entity's own keys.
    let hasPresence: Bool
    let buffer: IndexKeyBuffer

    private var values: KeyRange { KeyRange(lower: firstValue, upper: behindValues) }
    private var firstValue: [UInt8] { hasPresence ? prefix + [1] : prefix }
    private var behindValues: [UInt8]? { hasPresence ? prefix + [2] : KeyOrder.successor(ofPrefix: prefix) }
    private var nils: [KeyRange] { hasPresence ? [KeyRange(prefix: prefix + [0])] : [] }

    /// The key of a value, with its presence byte, and whether the value was truncated; nil if it is of another kind.
    func key(_ value: Value) throws -> (bytes: [UInt8], isCut: Bool)? {
        if value.isNull { return hasPresence ? (prefix + [0], false) : nil }
        buffer.begin()
        guard try buffer.append(value, as: kind, budget: budget) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefix.count + 1 + buffer.key.count)
        bytes += prefix
        if hasPresence { bytes.append(1) }
        bytes += buffer.key
        return (bytes, buffer.isCut)
    }

    /// The keys of the records that can meet a condition; nil if the condition is not about this attribute alone.
    func selection(_ condition: BoundExpression) throws -> Selection? {
        switch condition {
        case .literal(.bool(false)): return Selection(ranges: [], isExact: true, isPoints: true)
        case .attribute(let path, position, .bool, _) where path.isRoot: return try points([.bool(true)])
        case .not(.attribute(let path, position, .bool, false)) where path.isRoot: return try points([.bool(false)])
        case .isIn(.attribute(let path, position, _, _), let values) where path.isRoot: return try points(values)
        case .text(.beginsWith, .attribute(let path, position, .string, _), .literal(.string(let text)))
        where path.isRoot:
            return try beginning(with: text)
        case .compare:
            if let comparison = condition.rootComparison, comparison.position == position {
                return try selection(comparison.comparison, comparison.value)
            }
            return try reference(condition)
        case .and(let parts): return try intersection(parts)
        case .or(let parts): return try union(parts)
        default: return nil
        }
    }

    /// The keys of the records whose attribute compares this way with a value; nil if the keys cannot decide that.
    func selection(_ comparison: FilterExpression.Comparison, _ value: Value) throws -> Selection? {
        guard kind != .links, kind != .strings else { return nil }
        if value.isNull {
            switch comparison {
            case .equal: return Selection(ranges: nils, isExact: true, isPoints: true)
            case .notEqual: return Selection(ranges: [values], isExact: true, isPoints: false)
            // An order comparison with nil is false.
            default: return Selection(ranges: [], isExact: true, isPoints: true)
            }
        }
        guard comparison != .notEqual, let (key, isCut) = try key(value) else { return nil }
        let range: KeyRange
        switch comparison {
        case .equal: return Selection(ranges: [KeyRange(prefix: key)], isExact: !isCut, isPoints: true)
        case .notEqual: return nil
        // Texts on both sides of a truncated one may share its key, so all of them are included.
        case .less:
            range = KeyRange(lower: firstValue, upper: isCut ? KeyOrder.successor(ofPrefix: key) : key)
        case .lessOrEqual: range = KeyRange(lower: firstValue, upper: KeyOrder.successor(ofPrefix: key))
        case .greater:
            guard let successor = isCut ? key : KeyOrder.successor(ofPrefix: key) else {
                return Selection(ranges: [], isExact: true, isPoints: true)
            }
            range = KeyRange(lower: successor, upper: behindValues)
        case .greaterOrEqual: range = KeyRange(lower: key, upper: behindValues)
        }
        return Selection(ranges: range.isEmpty ? [] : [range], isExact: !isCut, isPoints: false)
    }

    private func points(_ values: [Value]) throws -> Selection? {
        guard kind != .links, kind != .strings else { return nil }
        var isExact = true
        var ranges: [KeyRange] = []
        for value in values {
            if value.isNull {
                ranges += nils
                continue
            }
            guard let (key, isCut) = try key(value) else { return nil }
            ranges.append(KeyRange(prefix: key))
            if isCut { isExact = false }
        }
        return Selection(ranges: KeyRange.union(ranges), isExact: isExact, isPoints: true)
    }

    /// In NFC, a text that begins with the Characters of another also begins with its bytes. The reverse is not true, because a
    /// combining mark may follow.
    private func beginning(with text: String) throws -> Selection? {
        buffer.begin()
        try buffer.append(prefix: text, budget: budget)
        let range = KeyRange(prefix: values.lower + Array(buffer.key))
        return Selection(ranges: [range], isExact: false, isPoints: false)
    }

    /// `habit.id == x` requires a reference to x, and that this record exists.
    private func reference(_ condition: BoundExpression) throws -> Selection? {
        guard case .compare(.equal, let left, let right) = condition else { return nil }
        for pair in [(left, right), (right, left)] {
            guard case (.attribute(let path, 0, _, _), .literal(.uuid(let id))) = pair, path.variable == 0,
                path.hops.count == 1, path.hops[0].attribute == position, var found = try points([.uuid(id)])
            else { continue }
            found.isExact = false
            return found
        }
        return nil
    }

    private func intersection(_ parts: [BoundExpression]) throws -> Selection? {
        var result: Selection?
        var isExact = true
        for part in parts where !part.isAlwaysTrue {
            guard let found = try selection(part) else {
                isExact = false
                continue
            }
            result = intersection(result, found)
            if !found.isExact { isExact = false }
        }
        guard var result else { return nil }
        result.isExact = result.isExact && isExact
        return result
    }

    /// The conjunction of both.
    func intersection(_ first: Selection?, _ second: Selection) -> Selection {
        guard let first else { return second }
        return Selection(
            ranges: KeyRange.intersection(first.ranges, second.ranges),
            isExact: first.isExact && second.isExact,
            isPoints: first.isPoints || second.isPoints
        )
    }

    private func union(_ parts: [BoundExpression]) throws -> Selection? {
        var result = Selection(ranges: [], isExact: true, isPoints: true)
        for part in parts {
            guard let found = try selection(part) else { return nil }
            result.ranges += found.ranges
            result.isExact = result.isExact && found.isExact
            result.isPoints = result.isPoints && found.isPoints
        }
        result.ranges = KeyRange.union(result.ranges)
        return result
    }
}

extension KeyDomain {
    /// The keys of one attribute of an index, after those of the attributes before it.
    init(
        _ part: IndexKeyLayout.Part,
        of layout: IndexKeyLayout,
        behind prefix: [UInt8],
        _ buffer: IndexKeyBuffer
    ) {
        self.init(
            prefix: prefix,
            position: part.position,
            kind: part.kind,
            isOptional: part.isOptional,
            budget: layout.budget,
            hasPresence: true,
            buffer: buffer
        )
    }
}
