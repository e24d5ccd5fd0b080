import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let valueClauses: [Clause] = [
        Clause("every kind of attribute is read back equal") { bench in
            let store = try bench.contract()
            let specimens = [fullSpecimen(), Specimen("only what must be there")]
            try store.insert(specimens)
            for specimen in specimens {
                try expectEqual(try store.model(Specimen.self, id: specimen.id), specimen, "the record")
            }
        },
        Clause("numbers keep every bit, and minus zero is zero") { bench in
            let store = try bench.contract()
            for number in oddDoubles {
                var specimen = Specimen()
                specimen.ratio = number
                specimen.optionalRatio = number
                try store.save(specimen)
                let found = try require(try store.model(Specimen.self, id: specimen.id), "the record")
                let kept: Double = number == 0 ? 0 : number
                try expectEqual(found.ratio.bitPattern, kept.bitPattern, "the bits of \(number)")
                try expectEqual(found.optionalRatio?.bitPattern, kept.bitPattern, "the bits of \(number)")
            }
            for number in [Int.min, Int.min + 1, -1, 0, 1, Int.max - 1, Int.max] {
                var specimen = Specimen()
                specimen.count = number
                specimen.optionalCount = number
                try store.save(specimen)
                try expectEqual(try store.model(Specimen.self, id: specimen.id), specimen, "the record")
            }
        },
        Clause("NaN and infinity are refused, and not stored", refusesNumbersWithoutOrder),
        Clause(
            "a value above the limit is refused with its attribute and size, and not stored",
            refusesLargeValues
        ),
        Clause("text is read back scalar for scalar, in NFC") { bench in
            let store = try bench.contract()
            for text in oddTexts {
                var specimen = Specimen(text)
                specimen.optionalText = text
                specimen.words = [text, "", text]
                specimen.optionalWords = [text]
                try store.save(specimen)
                let found = try require(try store.model(Specimen.self, id: specimen.id), "the record")
                let scalars = Array(text.normalizedToNFC().unicodeScalars)
                try expectEqual(Array(found.text.unicodeScalars), scalars, "a text")
                try expectEqual(found.optionalText.map { Array($0.unicodeScalars) }, scalars, "an optional text")
                try expectEqual(found.words.map { Array($0.unicodeScalars) }, [scalars, [], scalars], "a list")
                try expectEqual(found.optionalWords?.first.map { Array($0.unicodeScalars) }, scalars, "a list")
            }
        },
        Clause("an empty text, list or data is not nil") { bench in
            let store = try bench.contract()
            var empty = Specimen()
            (empty.optionalText, empty.optionalWords, empty.optionalBytes) = ("", [], Data())
            let none = Specimen()
            try store.insert([empty, none])
            try expectEqual(try store.model(Specimen.self, id: empty.id), empty, "the record with empty values")
            try expectEqual(try store.model(Specimen.self, id: none.id), none, "the record with nils")
            let count = try store.fetchCount(
                FetchDescriptor(predicate: #Predicate<Specimen> { $0.optionalText == nil })
            )
            try expectEqual(count, 1, "the number of records without a text")
        },
        Clause("dates keep every bit, even before 1970 and in the year 4001") { bench in
            let store = try bench.contract()
            for seconds in oddInstants {
                var specimen = Specimen()
                specimen.moment = Date(timeIntervalSinceReferenceDate: seconds)
                specimen.optionalMoment = specimen.moment
                try store.save(specimen)
                let found = try require(try store.model(Specimen.self, id: specimen.id), "the record")
                try expectEqual(
                    found.moment.timeIntervalSinceReferenceDate.bitPattern,
                    seconds.bitPattern,
                    "the bits of an instant"
                )
                try expectEqual(found.optionalMoment, specimen.moment, "an optional instant")
            }
        },
        Clause("lists keep their order and repeats; links do not") { bench in
            let store = try bench.contract()
            var specimen = Specimen()
            specimen.words = ["b", "a", "", "b", "a\0c", "a"]
            specimen.bytes = Data((0...255).map { UInt8($0) } + [0, 0])
            try store.save(specimen)
            try expectEqual(try store.model(Specimen.self, id: specimen.id), specimen, "the record")
            let leaves = (0..<50).map { _ in Leaf() }
            var bouquet = Bouquet()
            bouquet.nullifiedLeafIDs = Set(leaves.map(\.id))
            try store.insertAll(leaves + [bouquet])
            try expectEqual(try store.model(Bouquet.self, id: bouquet.id), bouquet, "the record with links")
        },
    ]

    static let oddDoubles: [Double] = [
        0, -0.0, 1, -1, 0.1, .pi, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNormalMagnitude,
        .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 9_007_199_254_740_991, 1e300, 1e-300,
    ]

    static let oddInstants: [Double] = [
        0, 0.1, -1, -978_307_200, -2_000_000_000.000_001, 63_113_904_000, 700_000_000.123_456_7, 1e12, -1e12,
    ]

    static let oddTexts: [String] = [
        "", " ", "a", "A", "\u{e9}", "e\u{301}", "\u{1e9b}\u{323}", "o\u{302}\u{323}", "\0", "a\0b", "\0\0", "\u{7f}",
        "\u{feff}x", "\u{ffff}", "\u{10ffff}", "\u{fffd}", "\u{1f469}\u{200d}\u{1f680}", "\u{1f1e9}\u{1f1ea}",
        "\u{1f44d}\u{1f3fd}", "\u{301}", "\u{600}", "'; DROP TABLE Habit; --", "%_\\\"`$[]", "\r\n", "\u{2028}",
        "\u{1100}\u{1161}\u{11a8}", "\u{ac01}", "\u{212b}", "\u{fb01}", "\u{130}", "stra\u{df}e",
        String(repeating: "20 kB of text \u{e4}\u{1f600} ", count: 1_000),
    ]

    /// A record without nil values.
    static func fullSpecimen() -> Specimen {
        var specimen = Specimen("\u{dc}ber")
        specimen.flag = true
        specimen.optionalFlag = false
        specimen.count = -7
        specimen.optionalCount = 8
        specimen.ratio = 0.25
        specimen.optionalRatio = -1e-9
        specimen.optionalText = "t"
        specimen.moment = Date(timeIntervalSinceReferenceDate: 1.5)
        specimen.optionalMoment = Date(timeIntervalSinceReferenceDate: -1.5)
        specimen.optionalToken = UUID()
        specimen.bytes = Data([0, 255, 1])
        specimen.optionalBytes = Data([7])
        specimen.words = ["one", "two"]
        specimen.optionalWords = [""]
        specimen.mood = .bad
        specimen.optionalMood = .good
        specimen.level = .high
        specimen.optionalLevel = .middle
        specimen.settings = Settings(theme: "dark/\u{e9}", sizes: [3, 1, 2])
        specimen.optionalSettings = JSONAttribute(wrappedValue: Settings(theme: "", sizes: []))
        specimen.code = "C-1"
        return specimen
    }

    private static func refusesLargeValues(_ bench: ContractBench) throws {
        let limit = 6_000
        let store = try bench.open(Schema([Draft.self], largestRecord: limit))
        // The identifier, the date, the offsets of two values, and the header with one byte of nulls.
        let fixed = 16 + 8 + 2 * 8 + 9
        func draft(_ content: Int, _ attachment: Int = 0) -> Draft {
            let attachments = attachment == 0 ? [] : [String(repeating: "b", count: attachment)]
            return Draft(content: String(repeating: "a", count: content), attachments: attachments)
        }
        func refuse(_ draft: Draft, _ attribute: String, _ sizes: String...) throws {
            let stores: [() throws -> Void] = [
                { try store.save(draft) }, { try store.insert([draft]) },
                { try store.write { try $0.insert(contentsOf: [draft]) { _ in } } },
            ]
            for body in stores {
                let error = try expectError(.limitExceeded, entity: "Draft", attribute: attribute, id: draft.id, body)
                for size in sizes {
                    try expectEqual(error.message.contains(size), true, "the size \(size) in: \(error.message)")
                }
            }
        }
        try refuse(draft(limit + 1), "content", "Draft.content has 6001 bytes", "may have 6000")
        // SQLite writes lists of texts as JSON, where one byte can become six.
        try refuse(draft(0, 1_000), "attachments", "Draft.attachments has 1008 bytes", "may have 1000")
        try refuse(draft(limit - fixed - 4 - 4 - 89, 90), "attachments", "the record has 6001", "may have 6000")
        try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 0, "the number of records")
        try expectEqual(try store.currentToken(), .zero, "the token")
        var largest = draft(limit - fixed - 4 - 4 - 90, 90)
        try store.insert([largest, draft(0, 992)])
        try expectEqual(try store.model(Draft.self, id: largest.id), largest, "the largest record")
        largest.content += "a"
        try refuse(largest, "attachments", "the record has 6001")
        // A transaction that catches the refusal can continue.
        try store.write { transaction in
            _ = try expectError(.limitExceeded) { try transaction.save(largest) }
            try transaction.save(draft(1))
        }
        try expectEqual(try store.fetchCount(FetchDescriptor<Draft>()), 3, "the number of records")
    }

    private static func refusesNumbersWithoutOrder(_ bench: ContractBench) throws {
        let store = try bench.contract()
        for number in [Double.nan, .infinity, -.infinity, -.nan] {
            var specimen = Specimen()
            specimen.ratio = number
            try expectError(.invalidValue, entity: "Specimen", attribute: "ratio") { try store.save(specimen) }
            specimen = Specimen()
            specimen.optionalRatio = number
            try expectError(.invalidValue, entity: "Specimen", attribute: "optionalRatio") {
                try store.insert([specimen])
            }
            specimen = Specimen()
            specimen.moment = Date(timeIntervalSinceReferenceDate: number)
            try expectError(.invalidValue, entity: "Specimen", attribute: "moment") { try store.save(specimen) }
            specimen = Specimen()
            specimen.optionalMoment = Date(timeIntervalSinceReferenceDate: number)
            try expectError(.invalidValue, entity: "Specimen", attribute: "optionalMoment") { try store.save(specimen) }
        }
        try expectEqual(try store.all(Specimen.self).count, 0, "the number of records")
        try expectEqual(try store.currentToken(), .zero, "the token")
    }
}

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

extension StoreContract {
    /// Names that must not break SQL, filters or a file's bookkeeping.
    private static let awkwardNames = [
        "AND", "count", "IN", "true", "nil", "length", "Order", "table", "select", "rowid", "a b", " a", "quo\"te",
        "apo's",
        "[x]", "(x)", "x;y", "--", "a.b", "a_b", "a+b", "a,b", "$1", "%", "\\", "/", "1st", "\u{e9}t\u{e9}",
        "\u{1f3c3}",
        "History", "Metadata", "digest", "owner", "target", "token", "key", "NULL", String(repeating: "n", count: 160),
    ]

    private static let refusedNames = [
        "", "a\0b", "a\nb", "a\tb", "\u{7f}", "back`quote", String(repeating: "n", count: 495),
        String(repeating: "\u{e9}", count: 250),
    ]

    private static let refusedEntities = [
        "history", "metadata", "digests", "history_transaction", "History_Change", "habitstore_metadata",
        "HABITSTORE_DIGEST",
        "sqlite_notes", "SQLite_stat1",
    ]

    static let nameClauses: [Clause] = [
        Clause("entities, attributes and relationships work with any name") {
            bench in
            for (number, name) in awkwardNames.enumerated() {
                let names = OddlyNamed.Names(
                    entity: name,
                    text: name,
                    flag: "\(name) too",
                    reference: "\(name) ID",
                    relationship: "\(name) leads to"
                )
                try OddlyNamed.$names.withValue(names) { try keep(name, bench, folder: "named \(number)") }
            }
        },
        Clause("a name that one engine cannot take is refused by all") { bench in
            for name in refusedNames {
                try refuse(bench, .init(entity: name), entity: name, attribute: nil)
                try refuse(bench, .init(text: name), entity: "Odd", attribute: name)
                try refuse(bench, .init(relationship: name), entity: "Odd", attribute: name)
            }
            for name in refusedEntities { try refuse(bench, .init(entity: name), entity: name, attribute: nil) }
        },
        Clause("names that one engine would confuse are refused by all") { bench in
            try refuse(bench, .init(text: "note", flag: "Note"), entity: "Odd", attribute: "Note")
            try refuse(bench, .init(text: "note", flag: "note"), entity: "Odd", attribute: "note")
            try refuse(bench, .init(text: "ID"), entity: "Odd", attribute: "ID")
            // `other == nil` would mean the record, not the attribute.
            try refuse(bench, .init(reference: "other"), entity: "Odd", attribute: "other")
            // The indexes over (a, a_a) and over (a_a, a) would have the same name.
            try refuse(bench, .init(text: "x", flag: "y", reference: "x_y"), entity: "Odd", attribute: nil)
            try refuse(bench, .init(text: "x", flag: "y", reference: "x+y"), entity: "Odd", attribute: nil)
            try refuse(bench, .init(flag: "f (clustering)"), entity: "Odd", attribute: nil)
            let long = String(repeating: "n", count: 300)
            try refuse(bench, .init(entity: long, text: long), entity: long, attribute: nil)
        },
    ]

    private static func keep(_ name: String, _ bench: ContractBench, folder: String) throws {
        let schema = Schema([OddlyNamed.self])
        var record = OddlyNamed(text: name)
        record.flag = true
        record.reference = record.id
        let store = try bench.open(schema, folder: folder)
        try store.save(record)
        try store.write { try $0.delete(OddlyNamed.self, id: UUID()) }
        let predicate = #Predicate<OddlyNamed> { $0.text == name && $0.flag && $0.other?.text == name }
        let descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.text)])
        try expectEqual(try store.fetch(descriptor), [record], "the record of \(name.debugDescription)")
        let text = try store.read { try $0.explain(descriptor).filter }
        let read = FetchDescriptor<OddlyNamed>(filter: try Filter(text: text))
        try expectEqual(try store.fetch(read), [record], "the record by the filter's text, \(text)")
        try expectEqual(
            try store.check { _ in }.map(\.message),
            [],
            "the findings of a check of \(name.debugDescription)"
        )
        let history = try store.read { try $0.fetchHistory(after: .zero) }
        try expectEqual(history.flatMap(\.changes).map(\.entity), [name], "the entity in the history")
        store.close()
        guard bench.subject.isDurable else { return }
        let again = try bench.open(schema, folder: folder)
        try expectEqual(
            try again.all(OddlyNamed.self),
            [record],
            "the record of \(name.debugDescription), opened again"
        )
        again.close()
    }

    private static func refuse(
        _ bench: ContractBench,
        _ names: OddlyNamed.Names,
        entity: String,
        attribute: String?
    ) throws {
        try OddlyNamed.$names.withValue(names) {
            let schema = Schema([OddlyNamed.self])
            try expectError(.schemaMismatch, entity: entity, attribute: attribute) { try bench.open(schema) }
        }
    }
}
