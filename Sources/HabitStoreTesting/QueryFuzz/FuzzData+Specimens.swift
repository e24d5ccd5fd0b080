import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension FuzzData {
    /// Random records of the kit's schema: every kind of attribute, optional and not, and references and links of every kind, including dangling ones
    /// and
    /// cycles.
    public static func specimens(seed: UInt64, scale: Int = 1) throws -> FuzzData {
        let counts = [
            "Specimen": 40, "Folder": 16, "Hub": 5, "Item": 18, "Badge": 8, "Leaf": 6, "Bouquet": 12, "Wrapper": 10,
        ]
        return try FuzzData(
            name: "specimens",
            schema: ContractSchema.schema,
            seed: seed,
            counts: ContractSchema.schema.entities.map { (counts[$0.name] ?? 10) * scale }
        )
    }

    /// Random records of the built-in schema, fewer and odder than a user's.
    public static func habits(seed: UInt64, scale: Int = 1) throws -> FuzzData {
        let counts = ["Habit": 14, "Entry": 40, "Tag": 6, "Draft": 10]
        return try FuzzData(
            name: "habits",
            schema: HabitSchema.current,
            seed: seed,
            counts: HabitSchema.current.entities.map { (counts[$0.name] ?? 10) * scale }
        )
    }

    /// Random records; `counts` says how many of each entity.
    init(name: String, schema: Schema, seed: UInt64, counts: [Int]) throws {
        var random = SeededGenerator(seed: seed)
        let ids = counts.map { count in (0..<count).map { _ in OddValues.id(&random) } }
        var records: [[FuzzRecord]] = []
        for (entity, description) in schema.entities.enumerated() {
            var targets: [Int: Int] = [:]
            for relationship in schema.relationships[entity] where relationship.isStored {
                targets[relationship.attribute] = relationship.destination
            }
            records.append(
                try ids[entity].map { id in
                    let values = description.attributes.enumerated().map { position, attribute -> Value in
                        if position == 0 { return .uuid(id) }
                        if attribute.isOptional, random.chance(35) { return .null }
                        return Self.value(attribute, targets[position].map { ids[$0] }, &random)
                    }
                    return try FuzzRecord(values, layout: description.layout)
                }
            )
        }
        self.init(name: name, schema: schema, records: records)
    }

    private static func value(
        _ attribute: AttributeDescription,
        _ targets: [UUID]?,
        _ random: inout SeededGenerator
    ) -> Value {
        if let type = FuzzType(attribute)?.scalar {
            switch type {
            case .enumeration, .json: return sample(type.type, random.int(0...4))
            default: break
            }
        }
        switch attribute.kind {
        case .bool: return .bool(random.chance(50))
        case .int: return .int(Int64(OddValues.int(&random)))
        case .double: return .double(OddValues.double(&random))
        case .string: return .string(OddValues.text(&random))
        case .date: return .date(OddValues.date(&random))
        case .uuid: return .uuid(reference(targets, &random))
        case .data: return .data(Data((0..<random.int(0...3)).map { _ in UInt8(random.int(0...3)) }))
        case .strings: return .strings((0..<random.int(0...3)).map { _ in OddValues.text(&random) })
        case .links:
            return .links(
                Set((0..<random.int(0...3)).map { _ in reference(targets, &random) }).sorted { $0.isBefore($1) }
            )
        }
    }

    private static func sample(_ type: any FuzzValue.Type, _ position: Int) -> Value { type.probe(position: position) }

    private static func reference(_ targets: [UUID]?, _ random: inout SeededGenerator) -> UUID {
        guard let target = random.pickAny(targets ?? []), random.chance(94) else { return OddValues.id(&random) }
        return target
    }
}
