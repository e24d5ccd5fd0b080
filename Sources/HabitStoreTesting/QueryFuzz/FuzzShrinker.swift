import Foundation
import HabitStore

/// A shrunk query and its data, on which a store disagrees.
struct FuzzCase: Sendable {
    var query: FuzzQuery
    var data: FuzzData
    var subject: String
    var expected: FuzzAnswer
    var found: FuzzAnswer
}

/// Shrinks a disagreement: fewer records, a smaller condition, no order, no window, nil instead of values.
final class FuzzShrinker {
    private let subject: StoreUnderTest
    private var best: FuzzCase
    private var left = 3_000
    private let deadline: ContinuousClock.Instant

    /// The time limit of shrinking.
    private static let limitSeconds = 60

    init(_ failure: FuzzFailure, data: FuzzData, subject: StoreUnderTest) {
        self.subject = subject
        best = FuzzCase(
            query: failure.query,
            data: data,
            subject: subject.name,
            expected: failure.expected,
            found: failure.found
        )
        deadline = ContinuousClock().now + .seconds(Self.limitSeconds)
    }

    /// The smallest case found.
    func shrunk() throws -> FuzzCase {
        var isSmaller = true
        while isSmaller, isAllowed {
            isSmaller = false
            isSmaller = dropRecords() || isSmaller
            isSmaller = simplifyQuery() || isSmaller
            isSmaller = simplifyCondition() || isSmaller
            isSmaller = clearValues() || isSmaller
        }
        return best
    }

    private var isAllowed: Bool { left > 0 && ContinuousClock().now < deadline }

    /// Tries another case, and keeps it if the store still disagrees.
    private func accept(_ query: FuzzQuery, _ data: FuzzData) -> Bool {
        guard isAllowed else { return false }
        left -= 1
        guard let bench = try? FuzzBench(data, [subject]) else { return false }
        defer { bench.close() }
        guard let (expected, found) = try? bench.answers(query), let found = found.first,
            !expected.agrees(with: found)
        else { return false }
        best.query = query
        best.data = data
        best.expected = expected
        best.found = found
        return true
    }

    // MARK: Data

    /// Delta debugging: omits halves, quarters, eighths … of the records, down to single ones.
    private func dropRecords() -> Bool {
        var isSmaller = false
        for entity in best.data.records.indices {
            var size = best.data.records[entity].count
            while size > 0, isAllowed {
                var start = 0
                while start < best.data.records[entity].count, isAllowed {
                    var data = best.data
                    data.records[entity].removeSubrange(start..<min(start + size, data.records[entity].count))
                    if accept(best.query, data) { isSmaller = true } else { start += size }
                }
                size /= 2
            }
        }
        return isSmaller
    }

    /// Replaces values with nil or the simplest of their kind.
    private func clearValues() -> Bool {
        var isSmaller = false
        for (entity, description) in best.data.schema.entities.enumerated() {
            for index in best.data.records[entity].indices {
                for (position, attribute) in description.attributes.enumerated().dropFirst() {
                    guard let plain = attribute.plainValue, isAllowed else { continue }
                    var values = best.data.records[entity][index].values
                    guard values[position] != plain else { continue }
                    values[position] = plain
                    var data = best.data
                    guard let record = try? FuzzRecord(values, layout: description.layout) else { continue }
                    data.records[entity][index] = record
                    if accept(best.query, data) { isSmaller = true }
                }
            }
        }
        return isSmaller
    }

    // MARK: Query

    private func simplifyQuery() -> Bool {
        var isSmaller = false
        func attempt(_ change: (inout FuzzQuery) -> Void) {
            var query = best.query
            change(&query)
            if query != best.query, accept(query, best.data) { isSmaller = true }
        }
        attempt { $0.question = .count }
        attempt { if $0.question != .count { $0.question = .fetch } }
        attempt { $0.limit = nil }
        attempt { $0.offset = 0 }
        for index in best.query.sort.indices.reversed() {
            attempt { if index < $0.sort.count { $0.sort.remove(at: index) } }
        }
        if best.query.condition.filter(best.data.schema) != nil { attempt { $0.form = .filter } }
        if best.query.form == .composed { attempt { $0.form = .predicate(isErased: true) } }
        attempt { if $0.form == .predicate(isErased: false) { $0.form = .predicate(isErased: true) } }
        return isSmaller
    }

    private func simplifyCondition() -> Bool {
        var isSmaller = false
        var goesOn = true
        while goesOn, isAllowed {
            goesOn = false
            for smaller in best.query.condition.reductions() where smaller.freeVariables.isSubset(of: [0]) {
                var query = best.query
                query.condition = smaller
                guard canBePut(query), accept(query, best.data) else { continue }
                goesOn = true
                isSmaller = true
                break
            }
        }
        return isSmaller
    }

    private func canBePut(_ query: FuzzQuery) -> Bool {
        query.form == .filter ? query.condition.filter(best.data.schema) != nil : query.condition.isPredicate
    }
}

extension AttributeDescription {
    /// The simplest value of the attribute; nil if there is none.
    fileprivate var plainValue: Value? {
        if isOptional { return .null }
        if isUnique { return nil }
        if case .value(.enumeration)? = FuzzType(self)?.shape { return nil }
        if case .value(.json)? = FuzzType(self)?.shape { return nil }
        switch kind {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .double: return .double(0)
        case .string: return .string("")
        case .date: return .date(Date(timeIntervalSinceReferenceDate: 0))
        case .uuid: return nil
        case .data: return .data(Data())
        case .strings: return .strings([])
        case .links: return .links([])
        }
    }
}

extension FuzzExpression {
    /// Smaller expressions of the same type, the smallest first.
    func reductions() -> [FuzzExpression] {
        let type = self.type
        var smaller = constants.filter { $0 != self && size > 1 }
        // Any descendant of the same type; the caller checks its variables.
        smaller += descendants.filter { $0.type == type && $0.size < size }.sorted { $0.size < $1.size }
        if case .operation(let operation, let operands, _) = self {
            smaller += Self.fewer(operation, operands)
        }
        if case .constant(let value, _) = self { smaller += Self.plainer(value).map { .constant($0, type) } }
        let children = self.children
        for (index, child) in children.enumerated() {
            for reduced in child.reductions() {
                var children = children
                children[index] = reduced
                let candidate = replacing(children)
                if candidate.keepsBounds { smaller.append(candidate) }
            }
        }
        return smaller
    }

    private var descendants: [FuzzExpression] { children.flatMap { [$0] + $0.descendants } }

    /// The simplest constants of the type.
    private var constants: [FuzzExpression] {
        if type.entity != nil { return type.isOptional ? [.constant(.null, type)] : [] }
        if type.isOptional { return [.constant(.null, type)] }
        switch type.scalar {
        case .bool: return [.yes, .no]
        case .int: return [.constant(.int(0), type), .constant(.int(1), type)]
        case .double: return [.constant(.double(0), type), .constant(.double(1), type)]
        case .string: return [.constant(.string(""), type), .constant(.string("a"), type)]
        case .strings: return [.constant(.strings([]), type)]
        default: return []
        }
    }

    /// Fewer terms of a conjunction or disjunction, or fewer constants of a list.
    private static func fewer(_ operation: FuzzOperation, _ operands: [FuzzExpression]) -> [FuzzExpression] {
        switch operation {
        case .and, .or:
            guard operands.count > 2 else { return [] }
            return operands.indices.map { index in
                var operands = operands
                operands.remove(at: index)
                return .operation(operation, operands, .bool)
            }
        case .isIn(let values, let isSet):
            return values.indices.map { index in
                var values = values
                values.remove(at: index)
                return .operation(.isIn(values, isSet: isSet), operands, .bool)
            }
        default: return []
        }
    }

    private static func plainer(_ value: Value) -> [Value] {
        switch value {
        case .string(let text) where text.unicodeScalars.count > 1:
            let scalars = Array(text.unicodeScalars)
            return scalars.indices.map { index in
                var view = String.UnicodeScalarView()
                view.append(contentsOf: scalars[..<index] + scalars[(index + 1)...])
                return .string(String(view))
            }
        case .strings(let texts) where !texts.isEmpty:
            return texts.indices.map { index in
                var texts = texts
                texts.remove(at: index)
                return .strings(texts)
            }
        case .int(let number) where number != 0 && number != 1: return [.int(0), .int(1)]
        case .double(let number) where number != 0 && number != 1: return [.double(0), .double(1)]
        default: return []
        }
    }

    /// Whether a captured range's bounds are still ordered constants.
    private var keepsBounds: Bool {
        guard case .operation(.inRange(_, isCaptured: true), let operands, let type) = self, type == .bool,
            case .constant(let lower, _) = operands[1], case .constant(let upper, _) = operands[2]
        else { return true }
        return FuzzOrder.isRange(lower, upper)
    }
}
