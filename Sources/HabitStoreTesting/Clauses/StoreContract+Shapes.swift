import Foundation
import HabitStore

extension StoreContract {
    static let shapeClauses: [Clause] = ShapedQuestion.all.map { question in
        Clause("equal queries with different constants get their own answers: \(question.name)") { bench in
            var generator = SeededGenerator(seed: 11)
            let specimens = (0..<60).map { _ in Specimen(odd: &generator) }
            let store = try bench.contract()
            try store.write { transaction in for specimen in specimens { try transaction.insert(specimen) } }
            let all = try store.fetch(FetchDescriptor<Specimen>(sortBy: question.order))
            for _ in 0..<80 {
                let predicate = question.ask(generator.pick(specimens), generator.pick(specimens), &generator)
                try question.compare(predicate, all, store, &generator)
            }
        }
    }
}

/// A query whose predicates all have the same shape.
private struct ShapedQuestion: Sendable {
    let name: String
    var order: [SortDescriptor<Specimen>] = [SortDescriptor(\.moment)]
    /// Makes a predicate with constants of two records and random ones.
    let ask: @Sendable (Specimen, Specimen, inout SeededGenerator) -> Predicate<Specimen>

    static let all = [
        ShapedQuestion(name: "a range of numbers and a time") { first, second, _ in
            let (count, from, to) = (first.count, first.moment, second.moment)
            return #Predicate { $0.count == count && $0.moment >= from && $0.moment < to }
        },
        ShapedQuestion(name: "other attributes and operators of one type") { first, second, generator in
            let (token, serial) = (first.token, second.serial)
            switch generator.int(0...3) {
            case 0: return #Predicate { $0.token == token && $0.serial > serial }
            case 1: return #Predicate { $0.serial == token && $0.token > serial }
            case 2: return #Predicate { $0.token == token && $0.serial <= serial }
            default: return #Predicate { $0.token == token && $0.token < serial }
            }
        },
        ShapedQuestion(name: "numbers, nil, NaN and zeros of both signs") { first, _, generator in
            let number = generator.chance(30) ? generator.pick([nil, .nan, .infinity, -0.0, 0]) : first.optionalRatio
            return #Predicate { $0.optionalRatio == number }
        },
        ShapedQuestion(name: "a range of indexed integers", order: [SortDescriptor(\.count)]) {
            first,
            second,
            _ in
            let (least, most) = (first.count, second.count)
            return #Predicate { $0.count > least && $0.count <= most }
        },
        ShapedQuestion(name: "an indexed number and an optional time", order: []) { first, second, _ in
            let (count, moment) = (
                first.count, second.count == first.count ? second.optionalMoment : first.optionalMoment
            )
            return #Predicate { $0.count == count && $0.optionalMoment == moment }
        },
        ShapedQuestion(name: "a number with two lower bounds", order: [SortDescriptor(\.count, order: .reverse)]) {
            first,
            second,
            _ in
            let (least, other) = (first.count, second.count)
            return #Predicate { $0.count >= least && $0.count >= other }
        },
        ShapedQuestion(name: "a default for a nil number") { first, second, generator in
            let other = generator.chance(30) ? generator.pick([.nan, -.infinity, -0.0, 0]) : first.ratio
            let bound = second.ratio
            return #Predicate { ($0.optionalRatio ?? other) > bound }
        },
        ShapedQuestion(name: "texts in every form", order: [SortDescriptor(\.optionalText)]) { first, second, _ in
            let (text, least) = (first.text, second.text)
            return #Predicate { $0.text == text || $0.text >= least }
        },
        ShapedQuestion(name: "texts and nil", order: []) { first, _, _ in
            let text = first.optionalText
            return #Predicate { $0.optionalText != text }
        },
        ShapedQuestion(name: "Booleans", order: [SortDescriptor(\.count, order: .reverse)]) { first, second, _ in
            let (flag, other, count) = (first.flag, second.optionalFlag, first.count)
            return #Predicate { $0.flag == flag && !($0.optionalFlag == other && $0.count != count) }
        },
        ShapedQuestion(name: "a constant as a condition") { first, second, _ in
            let (flag, count) = (first.flag, second.count)
            return #Predicate { flag && $0.count <= count }
        },
        ShapedQuestion(name: "constants compared with each other") { first, second, _ in
            let (one, other, moment) = (first.count, second.count, second.optionalMoment)
            return #Predicate { one < other && $0.optionalMoment == moment }
        },
        ShapedQuestion(name: "a disjunction with times and nil") { first, second, _ in
            let (moment, token, count) = (first.optionalMoment, second.optionalToken, first.optionalCount)
            return #Predicate { $0.optionalMoment == moment || $0.optionalToken == token || $0.optionalCount == count }
        },
    ]

    /// Runs the query in several ways and compares the results with Swift's evaluation of all records.
    func compare(
        _ predicate: Predicate<Specimen>,
        _ all: [Specimen],
        _ store: any HabitStore,
        _ generator: inout SeededGenerator
    ) throws {
        let expected = try all.filter { try predicate.evaluate($0) }
        var descriptor = FetchDescriptor(predicate: predicate, sortBy: order)
        try expectEqual(try store.fetch(descriptor).map(\.id), expected.map(\.id), name)
        try expectEqual(try store.fetchCount(descriptor), expected.count, "the count of \(name)")
        descriptor.fetchOffset = generator.int(0...3)
        descriptor.fetchLimit = generator.chance(50) ? nil : generator.int(0...9)
        let window = expected.dropFirst(descriptor.fetchOffset).prefix(descriptor.fetchLimit ?? Int.max)
        try expectEqual(try store.fetchIdentifiers(descriptor), window.map(\.id), "a window of \(name)")
        let explanation = try store.read { try $0.explain(descriptor) }
        // The explanation's filter lacks some or all of what Foundation evaluates.
        guard !explanation.evaluatesPredicate else { return }
        let filter = try FilterExpression(predicate, schema: store.schema)
        try expectEqual(explanation.filter, filter.description, "the explanation of \(name)")
    }
}

extension Specimen {
    /// Random values that often coincide, some of them odd.
    fileprivate init(odd generator: inout SeededGenerator) {
        self.init(OddValues.text(&generator))
        id = OddValues.id(&generator)
        flag = generator.chance(50)
        optionalFlag = generator.chance(30) ? nil : generator.chance(50)
        count = OddValues.int(&generator)
        optionalCount = generator.chance(30) ? nil : OddValues.int(&generator)
        ratio = OddValues.double(&generator)
        optionalRatio = generator.chance(30) ? nil : OddValues.double(&generator)
        optionalText = generator.chance(30) ? nil : OddValues.text(&generator)
        moment = OddValues.date(&generator)
        optionalMoment = generator.chance(30) ? nil : OddValues.date(&generator)
        token = OddValues.id(&generator)
        optionalToken = generator.chance(30) ? nil : OddValues.id(&generator)
        serial = generator.identifier()
    }
}
