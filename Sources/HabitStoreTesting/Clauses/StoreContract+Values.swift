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
            try store.write { transaction in
                try leaves.forEach(transaction.insert)
                try transaction.insert(bouquet)
            }
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
