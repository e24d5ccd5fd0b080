import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore

extension PlantedChange {
    /// The records whose values are changed, by their entity.
    private static let subjects: [(entity: EntityDescription, id: UUID, values: [Value])] = {
        func subject<M: PersistentModel>(_ model: M) -> (EntityDescription, UUID, [Value]) {
            // A model of the sample has a value for each attribute; a missing one would leave the catalogue short, which a test counts.
            (M.entity, model.id, (try? model.values) ?? [])
        }
        return [
            subject(ChangedContents.habits[0]), subject(ChangedContents.entries[0]),
            subject(ChangedContents.entries[1]),
            subject(ChangedContents.tags[0]), subject(ChangedContents.drafts[0]),
        ]
    }()

    /// Another value in each attribute of each entity: whatever a copy, a conversion or a careless edit could make of it.
    static let values: [PlantedChange] = subjects.flatMap { subject in
        zip(subject.entity.attributes, subject.values).dropFirst().flatMap { attribute, value in
            others(value, attribute.kind, isOptional: attribute.isOptional).flatMap { name, other in
                inBoth(.values, "\(subject.entity.name).\(attribute.name) of \(subject.id.short), \(name)", .difference)
                {
                    try $0.change(subject.entity.name, subject.id, [attribute.name: other])
                }
            }
        }
    }

    /// Doubles that no attribute may have; those that SQLite cannot store are planted only in LMDB.
    static let numbersBeyond: [PlantedChange] = {
        var all: [PlantedChange] = []
        let numbers: [(String, Double)] = [
            ("NaN", .nan), ("infinity", .infinity), ("the least infinity", -.infinity),
        ]
        for (name, number) in numbers {
            let values: [(String, Value)] = [
                ("createdAt", .date(Date(timeIntervalSinceReferenceDate: number))), ("target", .double(number)),
            ]
            all += values.map { attribute, value in
                PlantedChange(part: .values, name: "Habit.\(attribute), \(name)", engine: .lmdb, answer: .damage) {
                    try $0.planter(.lmdb).change("Habit", ChangedContents.run, [attribute: value])
                }
            }
        }
        all += pairs([("infinity", "9e999"), ("the least infinity", "-9e999")]).map { name, number in
            sql(
                .values,
                "Habit.createdAt, \(name)",
                .damage,
                "UPDATE Habit SET createdAt = \(number) WHERE name = 'Run'"
            )
        }
        all += [
            PlantedChange(part: .values, name: "Habit.target, -0.0", engine: .lmdb, answer: .damage) {
                try $0.planter(.lmdb).change("Habit", ChangedContents.run, ["target": .double(-0.0)])
            }
        ]
        all += ([2, 50, 255] as [UInt8]).map { byte in
            lmdb(.values, "Habit.isArchived, the byte \(byte)", .damage) { transaction in
                try transaction.edit("Habit", ChangedContents.run) {
                    $0[RawRecord.offset("isArchived", in: Habit.entity)] = byte
                }
            }
        }
        return all
    }()

    /// Other values that `value` could become.
    private static func others(
        _ value: Value,
        _ kind: AttributeKind,
        isOptional: Bool
    ) -> [(name: String, value: Value)] {
        let found: [(String, Value)] =
            switch value {
            case .bool(let flag): [("the other one", .bool(!flag))]
            case .int(let number):
                [
                    ("one more", .int(number + 1)), ("one less", .int(number - 1)), ("0", .int(0)), ("-1", .int(-1)),
                    ("the greatest", .int(.max)), ("the least", .int(.min)), ("2^31", .int(1 << 31)),
                    ("2^32 more", .int(number + 1 << 32)),
                ]
            case .double(let number):
                [
                    ("the next", .double(number.nextUp)), ("0", .double(0)), ("the opposite", .double(-number)),
                    ("1e300", .double(1e300)), ("the one before", .double(number.nextDown)),
                    ("the least there is", .double(.leastNonzeroMagnitude)),
                ]
            case .date(let date):
                [
                    ("the next", .date(date, plus: date.timeIntervalSinceReferenceDate.ulp)),
                    ("a microsecond later", .date(date, plus: 1e-6)), ("a day later", .date(date, plus: 86_400)),
                    ("counted from 1970", .date(date, plus: 978_307_200)), ("1e300", .date(.init(), plus: 1e300)),
                    ("-1e300", .date(.init(), plus: -1e300)), ("9.3e18", .date(.init(), plus: 9.3e18)),
                    ("the beginning", .date(Date(timeIntervalSinceReferenceDate: 0))),
                ]
            case .string(let text): texts(text)
            case .uuid: [("of no record", .uuid(ChangedContents.nobody)), ("of another", .uuid(ChangedContents.read))]
            // ``links`` and ``lists`` change links and lists of texts.
            case .links, .strings, .data, .null: []
            }
        let none: [(String, Value)] = isOptional && value != .null && !found.isEmpty ? [("nil", .null)] : []
        let some: [(String, Value)] = value == .null && kind == .string ? [("something for nil", .string(""))] : []
        return (found + none + some).filter { $0.1 != value }
    }

    private static func texts(_ text: String) -> [(String, Value)] {
        [
            ("in capitals", text.uppercased()), ("with a blank after it", text + " "),
            ("with a NUL after it", text + "\0"),
            ("with a mark of the byte order", "\u{FEFF}" + text), ("with an invisible character", "\u{200D}" + text),
            ("doubled", text + text), ("cut", String(text.dropLast())), ("empty", ""),
            ("a character that stands for none", "\u{FFFD}"), ("a character that has another form", "\u{8C48}"),
            ("beyond the first plane", "🏃"), ("longer than a key", String(repeating: "x", count: 2_000)),
        ].map { ($0, .string($1)) }
    }
}

extension Value {
    fileprivate static func date(_ date: Date, plus seconds: Double) -> Value {
        .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + seconds))
    }
}

extension UUID {
    /// The part of the identifier that distinguishes the records of the sample.
    var short: String { String(uuidString.suffix(3)) }
}
