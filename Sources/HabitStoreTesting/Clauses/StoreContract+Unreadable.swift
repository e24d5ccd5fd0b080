import Foundation
@_spi(Engines) import HabitStore

/// An enum case written by a newer version of the app was reported as a damaged store, without naming any record; the rollout moved the user away
/// from a
/// sound store because of it. Now it is a value that this version cannot read, in a named record.
extension StoreContract {
    static let unreadableClauses: [Clause] = [
        Clause("an enum case of a newer version is an unreadable value of one record, not damage") { bench in
            try expectUnreadable(try bench.contract(), "mood", .string("elated"))
        },
        Clause("an optional enum case of a newer version is an unreadable value, not nil") { bench in
            try expectUnreadable(try bench.contract(), "optionalMood", .string("elated"))
        },
        Clause("a Codable value of a newer version is an unreadable value of one record, not damage") { bench in
            try expectUnreadable(try bench.contract(), "settings", .data(Data(#"{"sizes":"none"}"#.utf8)))
        },
        Clause(
            "a value that would not be read back equal is refused when it is stored, with its attribute",
            refusesWhatComesBackOtherwise
        ),
        Clause("an error that a closure throws is not damage, whatever its code") { bench in
            let store = try bench.habits()
            for code in [HabitStoreError.Code.corrupt, .notAStore, .unreadableValue] {
                let read = try expectError(code) { try store.read { _ in throw HabitStoreError(code, "the app's") } }
                let written = try expectError(code) {
                    try store.write { _ in throw HabitStoreError(code, "the app's") }
                }
                for error in [read, written] {
                    try expect(!error.isDamage, "an error of the app is not damage")
                    try expectEqual(error.location, HabitStoreError.Location(), "the location of an error of the app")
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
        // Stored as by a newer version of the app, bypassing this version's types.
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
            try expect(!error.isDamage, "a value of a newer version is not damage")
        }
        try expectNamed { try store.all(Specimen.self) }
        try expectNamed { try store.model(Specimen.self, id: newer.id) }
        try expectNamed { try store.read { try $0.enumerate(FetchDescriptor<Specimen>()) { _ in true } } }
        try expectEqual(try store.model(Specimen.self, id: sound.id), sound, "the other record")
        let untyped = try store.read { try $0.records(RecordQuery(entity: "Specimen")) }
        try expectEqual(Set(untyped.map(\.id)), [newer.id, sound.id], "the untyped records")
        try expectEqual(try store.fetchCount(FetchDescriptor<Specimen>()), 2, "the number of records")
        // The check once did not report what made every fetch fail.
        let findings = try store.check { _ in }
        try expectEqual(findings.map(\.severity), [.unreadable], "the severity of a value of a newer version")
        try expectEqual(findings.map(\.kind), ["unreadableValue"], "a check's findings")
        try expectEqual(findings.map(\.id), [newer.id], "the record that the check names")
        try expectEqual(findings.map(\.attribute), [attribute], "the attribute that the check names")
        try store.save(Specimen("later"))
    }

    /// `Decimal.nan` was stored as JSON that does not decode: every fetch that found the record failed, and the check called the store sound. A
    /// relative URL
    /// came back as a different one.
    private static func refusesWhatComesBackOtherwise(_ bench: ContractBench) throws {
        let store = try bench.open(Quote.schema)
        let relative = URL(string: "a/b?c#d", relativeTo: URL(string: "https://example.com/z/"))
        let changes: [(attribute: String, change: (inout Quote) -> Void)] = [
            ("amount", { $0.amount = .nan }), ("terms", { $0.terms.rate = .nan }), ("link", { $0.link = relative }),
            ("terms", { $0.terms.page = relative }), ("terms", { $0.terms.draft = "not stored" }),
            ("warmth", { $0.warmth = .init(20.5) }), ("warmth", { $0.warmth = .init(2_000) }),
        ]
        let sound = Quote()
        try store.insert([sound])
        for (attribute, change) in changes {
            var quote = Quote()
            change(&quote)
            let refused = quote
            func expectRefusal<R>(_ body: () throws -> R) throws {
                try expectError(.invalidValue, entity: "Quote", attribute: attribute, id: refused.id, body)
            }
            try expectRefusal { try store.save(refused) }
            try expectRefusal { try store.write { try $0.insert(refused) } }
            try expectRefusal { try store.insert([Quote(), refused]) }
        }
        try expectEqual(try store.all(Quote.self), [sound], "the records")
        var odd = Quote()
        odd.amount = .greatestFiniteMagnitude
        odd.link = relative?.absoluteURL
        odd.terms = .init(rate: .leastNonzeroMagnitude, page: URL(string: "https://example.com/a%20b?\u{e9}"))
        odd.warmth = .init(-3)
        try store.save(odd)
        try expectEqual(try store.model(Quote.self, id: odd.id), odd, "the record")
        try expectEqual(try store.check { _ in }, [], "a check's findings")
    }
}
