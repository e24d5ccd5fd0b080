import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

/// Compares compiled and interpreted evaluation of random filters over random records.
struct CompiledFilterRun {
    /// The results of a run.
    struct Report {
        var evaluations = 0
        var held = 0
        var failed = 0
        var disagreements: [String] = []
    }

    let seed: UInt64

    private static let pieces = [
        "a", "b", "ab", "A", "\r", "\n", "\r\n", "\u{301}", "\u{323}", "\u{1f1e9}", "\u{1f1ea}", "\u{200d}",
        "\u{1f469}",
        "\u{1f680}", "\u{1f3fd}", "\u{1100}", "\u{1161}", "\u{11a8}", "\u{ac00}", "\u{600}", "\u{e9}", "\u{df}", "\0",
        "\u{ad}", "\u{a9}", "\u{915}", "\u{94d}", "\u{937}", "\u{fe0f}", " ", "1", "\u{130}", "\u{3a9}", "e",
        "\u{4e00}",
    ]

    /// Text, often at the limit of what bytes reveal about Characters.
    static func text(_ generator: inout SeededGenerator, atMost most: Int = 7) -> String {
        if generator.chance(25) { return EdgeValues.text(&generator) }
        // Half of it has no scalar from U+0300 on.
        let pieces = generator.chance(50) ? ["a", "b", "ab", "A", "\r", "\n", "\u{e9}", "\0", "\u{ad}", " "] : pieces
        return (0..<generator.int(0...most)).map { _ in generator.pick(pieces) }.joined()
    }

    func run(evaluations: Int) throws -> Report {
        var report = Report()
        var generator = SeededGenerator(seed: seed)
        while report.evaluations < evaluations {
            for schema in [HabitSchema.current, ContractSchema.schema] {
                let records = try RecordsForFilters(schema, seed: generator.next())
                let isHabits = schema === HabitSchema.current
                let profile = FuzzProfile(try isHabits ? .habits(seed: seed) : .specimens(seed: seed))
                for _ in 0..<20 where report.evaluations < evaluations {
                    try compare(records, profile, &generator, &report)
                }
            }
        }
        return report
    }

    /// Evaluates one filter over all records of an entity.
    private func compare(
        _ records: RecordsForFilters,
        _ profile: FuzzProfile,
        _ generator: inout SeededGenerator,
        _ report: inout Report
    ) throws {
        let schema = records.schema
        let isContract = schema.entities.contains { $0.name == "Specimen" }
        let entity =
            isContract && generator.chance(70)
            ? try schema.position(of: Specimen.self) : generator.int(0...schema.entities.count - 1)
        var random = FuzzGenerator(profile, seed: generator.next())
        var typed = RandomExpression(records: records, generator: SeededGenerator(seed: generator.next()))
        let filter = generator.chance(30) ? random.filter(entity: entity) : typed.condition(entity: entity)
        let bound = try filter.bound(to: schema, entity: entity)
        let evaluator = FilterEvaluator(records)
        let mayChange = generator.chance(30)
        records.lendsColumns = generator.chance(30)
        let compiled = CompiledFilter(
            bound,
            entity: entity,
            schema: schema,
            records: records,
            recordsMayChange: mayChange
        )
        for id in records.order[entity] {
            let expected = outcome {
                try records.withRow(entity: entity, id: id) { try evaluator.matches(bound, $0.values) }
            }
            let actual = outcome { try records.withRow(entity: entity, id: id) { try compiled.matches(&$0) } }
            report.evaluations += 1
            if expected == "true" { report.held += 1 }
            if expected.hasPrefix("error") { report.failed += 1 }
            guard expected != actual else { continue }
            let row = try records.withRow(entity: entity, id: id) { try $0.encoded() }
            let values = try row?.values(schema.entities[entity].layout) ?? []
            report.disagreements.append(
                "\(schema.entities[entity].name) WHERE \(filter): \(expected), compiled \(actual), on \(values)"
            )
            return
        }
    }

    private func outcome(_ body: () throws -> Bool?) -> String {
        do {
            return try body().map { "\($0)" } ?? "no record"
        } catch let error as HabitStoreError {
            return "error \(error.code)"
        } catch {
            return "error \(error)"
        }
    }
}
