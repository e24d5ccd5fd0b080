import Foundation
@_spi(Engines) import HabitStore

/// An enum case that a newer version of the app had written came out as a damaged store, without a name of anything; the rollout
/// took the user away from a sound store for it. Now it is a value that this version cannot read, in a record that has a name.
extension StoreContract {
    static let unreadableClauses: [Clause] = [
        Clause("an enum case of a newer version is an unreadable value of one record, and no damage") { bench in
            try expectUnreadable(try bench.contract(), "mood", .string("elated"))
        },
        Clause("an optional enum case of a newer version is an unreadable value, and not nil") { bench in
            try expectUnreadable(try bench.contract(), "optionalMood", .string("elated"))
        },
        Clause("a Codable value of a newer version is an unreadable value of one record, and no damage") { bench in
            try expectUnreadable(try bench.contract(), "settings", .data(Data(#"{"sizes":"none"}"#.utf8)))
        },
        Clause("an error that a closure throws is no damage, whatever its code") { bench in
            let store = try bench.habits()
            for code in [HabitStoreError.Code.corrupt, .notAStore, .unreadableValue] {
                let read = try expectError(code) { try store.read { _ in throw HabitStoreError(code, "the app's") } }
                let written = try expectError(code) {
                    try store.write { _ in throw HabitStoreError(code, "the app's") }
                }
                for error in [read, written] {
                    try expect(!error.isDamage, "an error of the app is no damage")
                    try expectEqual(error.location, HabitStoreError.Location(), "the place of an error of the app")
                }
            }
        },
    ]

    private static func expectUnreadable(
        _ store: any EngineBackedStore,
        _ attribute: String,
        _ value: Value
    ) throws {
        let (newer, sound) = (Specimen("newer"), Specimen("sound"))
        try store.insert([newer, sound])
        let entity = try store.schema.position(of: Specimen.self)
        let description = Specimen.entity
        let position = try require(description.position(of: attribute), "the attribute's position")
        // As a newer version of the app has stored it: past this version's types.
        try store.replicate { replica in
            let stored = try require(try replica.record(entity: entity, id: newer.id), "the record")
            var values = try stored.values(description.layout)
            values[position] = value
            try replica.put(entity: entity, id: newer.id, EncodedRecord(values, layout: description.layout))
        }
        func expectNamed<R>(_ body: () throws -> R) throws {
            let error = try expectError(
                .unreadableValue,
                entity: "Specimen",
                attribute: attribute,
                id: newer.id,
                body
            )
            try expect(!error.isDamage, "a value of a newer version is no damage")
        }
        try expectNamed { try store.all(Specimen.self) }
        try expectNamed { try store.model(Specimen.self, id: newer.id) }
        try expectNamed { try store.read { try $0.enumerate(FetchDescriptor<Specimen>()) { _ in true } } }
        try expectEqual(try store.model(Specimen.self, id: sound.id), sound, "the other record")
        let untyped = try store.read { try $0.records(RecordQuery(entity: "Specimen")) }
        try expectEqual(Set(untyped.map(\.id)), [newer.id, sound.id], "the records without their types")
        try expectEqual(try store.fetchCount(FetchDescriptor<Specimen>()), 2, "the number of records")
        try expectEqual(try store.check { _ in }, [], "what a check finds")
        try store.save(Specimen("later"))
    }
}
