import Foundation

/// Compiles a bound expression, each part by the kind of value that it gives.
struct FilterCompiler {
    /// The record that a variable refers to.
    struct BoundVariable {
        let slot: Int
        let entity: Int
    }

    /// The variables by their numbers.
    typealias Scope = [Int: BoundVariable]

    private struct StepKey: Hashable {
        let slot: Int
        let hops: [BoundPath.Hop]
    }

    let schema: Schema
    let records: any RelatedRecords
    let moment: FilterSnapshot
    /// How many slots the compiled filter needs.
    private(set) var slotCount = 1
    private var steps: [StepKey: ReferenceStep] = [:]

    init(schema: Schema, records: any RelatedRecords, moment: FilterSnapshot) {
        self.schema = schema
        self.records = records
        self.moment = moment
    }

    // MARK: Places

    /// A slot for the records of one more variable.
    mutating func addSlot() -> Int {
        defer { slotCount += 1 }
        return slotCount
    }

    /// The record that a path leads to, and its entity; nil when nothing binds its variable.
    mutating func source(_ path: BoundPath, _ scope: Scope) -> (RecordSource, entity: Int)? {
        guard let variable = scope[path.variable] else { return nil }
        var source = RecordSource(slot: variable.slot, step: nil)
        var entity = variable.entity
        for (depth, hop) in path.hops.enumerated() {
            let key = StepKey(slot: variable.slot, hops: Array(path.hops[...depth]))
            let step =
                steps[key]
                ?? ReferenceStep(
                    AttributePlace(source, position: hop.attribute, entity: schema.entities[entity]),
                    destination: hop.destination,
                    layout: schema.entities[hop.destination].layout,
                    records: records,
                    moment: moment
                )
            steps[key] = step
            source = RecordSource(slot: variable.slot, step: step)
            entity = hop.destination
        }
        return (source, entity)
    }

    /// Where an attribute lies; nil when nothing binds its variable.
    mutating func place(_ path: BoundPath, _ position: Int, _ scope: Scope) -> AttributePlace? {
        guard let (source, entity) = source(path, scope) else { return nil }
        return AttributePlace(source, position: position, entity: schema.entities[entity])
    }

    /// Where an expression lies, when it is an attribute.
    mutating func place(_ expression: BoundExpression, _ scope: Scope) -> AttributePlace? {
        guard case .attribute(let path, let position, _, _) = expression else { return nil }
        return place(path, position, scope)
    }

    // MARK: Conditions

    /// A condition.
    mutating func test(_ condition: BoundExpression, _ scope: Scope) -> FilterTest {
        switch condition {
        case .literal(let value):
            let holds = value == .bool(true)
            return { _ in holds }
        case .attribute:
            guard let place = place(condition, scope) else { return { _ in false } }
            return { try place.bool($0) == 1 }
        case .exists(let path):
            guard let (source, _) = source(path, scope) else { return { _ in false } }
            return { try source.reader($0) != nil }
        case .not(let inner):
            let inner = test(inner, scope)
            return { try !inner($0) }
        case .and(let parts): return conjunction(conjuncts(parts, scope)[...])
        case .or(let parts): return disjunction(parts.map { FilterPart(test: test($0, scope)) }[...])
        case .compare(let comparison, let left, let right): return compare(comparison, left, right, scope)
        case .isIn(let member, let values): return membership(member, values, scope)
        case .text(let kind, let text, let part): return textTest(kind, text, part, scope)
        case .some(let collection, let inner): return some(collection, inner, scope)
        case .every(let collection, let inner): return every(collection, inner, scope)
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), self.test(first, scope), self.test(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .coalesce:
            let flag = int(condition, scope)
            return { try flag($0) == 1 }
        case .count, .length, .least, .greatest, .caseInsensitiveOrder, .arithmetic:
            let value = value(condition, scope)
            return { try value($0) == .bool(true) }
        }
    }

    /// Conditions of which all must hold; neighbours that bound the same attribute become one range.
    private mutating func conjuncts(_ parts: [BoundExpression], _ scope: Scope) -> [FilterPart] {
        var tests: [FilterPart] = []
        var next = 0
        while next < parts.count {
            var merged = AttributeRange(parts[next])
            let first = next
            next += 1
            while next < parts.count, let range = merged?.intersection(AttributeRange(parts[next])) {
                merged = range
                next += 1
            }
            if next > first + 1, let merged, let range = range(merged, scope) {
                tests.append(FilterPart(test: range))
            } else {
                tests.append(FilterPart(test: test(parts[first], scope)))
                next = first + 1
            }
        }
        return tests
    }

    private mutating func range(_ range: AttributeRange, _ scope: Scope) -> FilterTest? {
        guard let place = place(range.attribute, scope) else { return nil }
        switch range.numbers {
        case .ints(let range): return { range.holds(try place.int($0)) }
        case .doubles(let range): return { range.holds(try place.double($0)) }
        }
    }

    /// All of them, in their order, halved so that many do not nest deeply.
    private func conjunction(_ tests: ArraySlice<FilterPart>) -> FilterTest {
        guard let only = tests.first else { return { _ in true } }
        if tests.count == 1 { return only.test }
        let middle = tests.startIndex + tests.count / 2
        let (first, second) = (conjunction(tests[..<middle]), conjunction(tests[middle...]))
        return { rows in
            guard try first(rows) else { return false }
            return try second(rows)
        }
    }

    /// One of them, in their order.
    private func disjunction(_ tests: ArraySlice<FilterPart>) -> FilterTest {
        guard let only = tests.first else { return { _ in false } }
        if tests.count == 1 { return only.test }
        let middle = tests.startIndex + tests.count / 2
        let (first, second) = (disjunction(tests[..<middle]), disjunction(tests[middle...]))
        return { rows in
            if try first(rows) { return true }
            return try second(rows)
        }
    }
}

extension FilterCompiler {
    /// A value of any kind.
    mutating func value(_ expression: BoundExpression, _ scope: Scope) -> FilterValue {
        switch expression {
        case .literal(let value): return { _ in value }
        case .attribute:
            guard let place = place(expression, scope) else { return { _ in .null } }
            return { try place.value($0) }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every:
            let test = test(expression, scope)
            return { .bool(try test($0)) }
        case .count, .length, .caseInsensitiveOrder:
            let number = int(expression, scope)
            return { try number($0).map { .int($0) } ?? .null }
        case .least(let list):
            let list = value(list, scope)
            return { try list($0).extreme { $0 < 0 } }
        case .greatest(let list):
            let list = value(list, scope)
            return { try list($0).extreme { $0 > 0 } }
        case .coalesce(let first, let second):
            let (first, second) = (value(first, scope), value(second, scope))
            return { rows in
                let value = try first(rows)
                return value.isNull ? try second(rows) : value
            }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), value(first, scope), value(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (value(left, scope), value(right, scope))
            return { try operation.apply(try left($0), try right($0)) }
        }
    }

    // MARK: Whole numbers and truth values

    /// A whole number, or a truth value as 1 or 0.
    mutating func int(_ expression: BoundExpression, _ scope: Scope) -> FilterInt {
        switch expression {
        case .literal(let value):
            let number = value.wholeNumber
            return { _ in number }
        case .attribute(_, _, let kind, _):
            guard let place = place(expression, scope) else { return { _ in nil } }
            if kind == .bool { return { try place.bool($0) } }
            return kind == .int ? { try place.int($0) } : { _ in nil }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every:
            let test = test(expression, scope)
            return { try test($0) ? 1 : 0 }
        case .count(let collection, let inner): return count(collection, inner, scope)
        case .length(let inner): return length(inner, scope)
        case .caseInsensitiveOrder(let left, let right):
            let (left, right) = (value(left, scope), value(right, scope))
            return { try left($0).caseInsensitiveOrder(comparedWith: try right($0)).wholeNumber }
        case .coalesce(let first, let second):
            let (first, second) = (int(first, scope), int(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), int(first, scope), int(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (int(left, scope), int(right, scope))
            return { rows in
                let (left, right) = (try left(rows), try right(rows))
                guard let left, let right else { return nil }
                return try operation.apply(left, right)
            }
        case .least, .greatest: return { _ in nil }
        }
    }

    // MARK: Doubles and dates

    /// A double, or the seconds of a date.
    mutating func double(_ expression: BoundExpression, _ scope: Scope) -> FilterDouble {
        switch expression {
        case .literal(let value):
            let number = value.doubleOrSeconds
            return { _ in number }
        case .attribute:
            guard let place = place(expression, scope) else { return { _ in nil } }
            return { try place.double($0) }
        case .coalesce(let first, let second):
            let (first, second) = (double(first, scope), double(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), double(first, scope), double(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .arithmetic(let operation, let left, let right):
            let (left, right) = (double(left, scope), double(right, scope))
            return { rows in
                let (left, right) = (try left(rows), try right(rows))
                guard let left, let right else { return nil }
                return operation.apply(left, right)
            }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every, .count, .length, .caseInsensitiveOrder,
            .least, .greatest:
            return { _ in nil }
        }
    }

    // MARK: Identifiers

    /// An identifier.
    mutating func identifier(_ expression: BoundExpression, _ scope: Scope) -> FilterIdentifier {
        if let place = place(expression, scope) { return { try place.identifier($0) } }
        let value = value(expression, scope)
        return { rows in
            guard case .uuid(let id) = try value(rows) else { return nil }
            return IdentifierKey(id)
        }
    }

    // MARK: Text and data

    /// Text, or data.
    mutating func bytes(_ expression: BoundExpression, _ scope: Scope) -> FilterBytes {
        switch expression {
        case .literal(let value):
            guard let constant = value.constantBytes else { return { _ in nil } }
            return { _ in constant.bytes }
        case .attribute(_, _, let kind, _):
            guard let place = place(expression, scope) else { return { _ in nil } }
            let scratch = FilterScratch()
            return kind == .data ? { try place.data($0, scratch) } : { try place.text($0, scratch) }
        case .coalesce(let first, let second):
            let (first, second) = (bytes(first, scope), bytes(second, scope))
            return { try first($0) ?? second($0) }
        case .conditional(let test, let first, let second):
            let (test, first, second) = (self.test(test, scope), bytes(first, scope), bytes(second, scope))
            return { try test($0) ? try first($0) : try second($0) }
        case .least, .greatest:
            let (value, scratch) = (value(expression, scope), FilterScratch())
            return { rows in
                guard case .string(let text) = try value(rows) else { return nil }
                return scratch.keep(text)
            }
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every, .count, .length, .caseInsensitiveOrder,
            .arithmetic:
            return { _ in nil }
        }
    }
}

extension Value {
    /// A whole number, or a truth value as 1 or 0; nil for others.
    var wholeNumber: Int64? {
        switch self {
        case .int(let number): return number
        case .bool(let flag): return flag ? 1 : 0
        case .null, .double, .string, .date, .uuid, .data, .strings, .links: return nil
        }
    }

    /// A double, or the seconds of a date; nil for others.
    var doubleOrSeconds: Double? {
        switch self {
        case .double(let number): return number
        case .date(let date): return date.timeIntervalSinceReferenceDate
        case .null, .int, .bool, .string, .uuid, .data, .strings, .links: return nil
        }
    }

    /// The UTF-8 of text, or data; nil for others.
    var constantBytes: OwnedBuffer<UInt8>? {
        switch self {
        case .string(let text): return OwnedBuffer(Array(text.utf8))
        case .data(let bytes): return OwnedBuffer(Array(bytes))
        case .null, .int, .bool, .double, .date, .uuid, .strings, .links: return nil
        }
    }
}
