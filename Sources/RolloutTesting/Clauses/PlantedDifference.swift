import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker

/// A change to one of two stores that is not in its history.
enum PlantedDifference: String, CaseIterable {
    case changed = "a record that was changed"
    case removed = "a record that was removed"
    case added = "a record that was added"
    case relinked = "a link that was taken away"

    private static let tag = identifier(1)
    private static let habit = identifier(2)
    private static let entry = identifier(3)

    private static func identifier(_ number: UInt8) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
    }

    /// Writes the records that the difference is planted into.
    static func fill(_ store: some HabitStore) throws {
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        try store.write(author: "contract") { transaction in
            try transaction.insert(Tag(id: tag, name: "sport"))
            try transaction.insert(Habit(id: habit, name: "Run", createdAt: date, tagIDs: [tag]))
            for number in 0..<20 {
                let entry = Entry(
                    id: number == 0 ? entry : UUID(),
                    date: date.addingTimeInterval(Double(number)),
                    habitID: habit
                )
                try transaction.insert(entry)
            }
        }
    }

    /// The record that will differ.
    var id: UUID {
        switch self {
        case .changed, .removed: Self.entry
        case .added: Self.identifier(4)
        case .relinked: Self.habit
        }
    }

    /// Plants the difference as a replicating transaction that never reached the other store.
    func plant(in store: any UserStoreBackend) throws {
        let schema = store.schema
        let entity = try schema.position(ofEntity: self == .relinked ? "Habit" : "Entry")
        try store.replicate { replica in
            switch self {
            case .changed:
                try Self.change(entity, id, "note", to: .string("changed"), schema, replica)
            case .removed: try replica.remove(entity: entity, id: id)
            case .added:
                let model = try require(try replica.record(entity: entity, id: Self.entry), "the entry")
                var values = try model.values(schema.entities[entity].layout)
                values[0] = .uuid(id)
                let record = try EncodedRecord(values, layout: schema.entities[entity].layout)
                try replica.put(entity: entity, id: id, record)
            case .relinked: try Self.change(entity, id, "tagIDs", to: .links([]), schema, replica)
            }
        }
    }

    private static func change(
        _ entity: Int,
        _ id: UUID,
        _ attribute: String,
        to value: Value,
        _ schema: Schema,
        _ replica: any ReplicaTransaction
    ) throws {
        let description = schema.entities[entity]
        let position = try require(description.position(of: attribute), "the attribute \(attribute)")
        var values = try require(try replica.record(entity: entity, id: id), "the record").values(description.layout)
        values[position] = value
        try replica.put(entity: entity, id: id, try EncodedRecord(values, layout: description.layout))
    }
}
