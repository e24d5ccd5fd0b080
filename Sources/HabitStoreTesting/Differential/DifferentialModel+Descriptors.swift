import Foundation
@_spi(Engines) import HabitStore

extension DifferentialModel {
    /// A random fetch: half of them by a predicate from the list, the others by a condition over the whole language.
    ///
    /// - Parameter profile: what the generator of conditions knows about the records.
    /// - Returns: the fetch, and a description of what its text form omits.
    static func randomDescriptor(
        _ generator: inout SeededGenerator,
        _ population: Population,
        entity: Int,
        _ profile: () throws -> FuzzProfile
    ) rethrows -> (FetchDescriptor<Self>, String) {
        var descriptor = FetchDescriptor<Self>()
        var source = ""
        if generator.chance(50) {
            let template = generator.pick(predicates)
            let constants = PredicateConstants(&generator, population)
            descriptor.predicate = template.make(constants)
            source = "#Predicate { \(template.source) } with \(constants)"
        } else {
            var random = FuzzGenerator(try profile(), seed: generator.next())
            descriptor.filter = Filter(random.filter(entity: entity))
        }
        for _ in 0..<generator.int(0...2) {
            let key = generator.pick(sortKeys)
            let isForward = generator.chance(50)
            descriptor.sortBy.append(key.make(isForward ? .forward : .reverse))
            source += ", sorted by \(key.name) \(isForward ? "ascending" : "descending")"
        }
        descriptor.fetchLimit = generator.chance(30) ? generator.int(-1...12) : nil
        descriptor.fetchOffset = generator.chance(20) ? generator.int(-2...15) : 0
        return (descriptor, source)
    }
}
