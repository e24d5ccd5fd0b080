import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import Testing

@testable import HabitStoreImport

/// An export can be imported again without losing a bit, whatever it contains.
struct InterchangeTests {
    let sandbox: InterchangeSandbox

    init() throws { sandbox = try InterchangeSandbox() }

    // MARK: Round trips

    @Test(arguments: InterchangeFormat.allCases, ["sqlite", "lmdb"])
    func aStoreThatHasLivedComesBackEqualOnEitherEngine(_ format: InterchangeFormat, _ engine: String) throws {
        let copy = sandbox.folder.path("lived-in.sqlite")
        try FileManager.default.copyItem(atPath: InterchangeSandbox.fixture, toPath: copy)
        let source = try SQLiteHabitStore(path: copy, schema: HabitSchema.current)
        defer { source.close() }
        let work = try sandbox.open(try sandbox.export(source, format))
        let target: any EngineBackedStore =
            engine == "sqlite"
            ? try SQLiteHabitStore(path: sandbox.folder.path("target"), schema: try work.schema())
            : try LMDBHabitStore(path: sandbox.folder.path("target"), schema: try work.schema())
        defer { target.close() }
        let report = try work.fill(target) { _, _ in }
        #expect(report.differences == 0)
        #expect(report.entities.reduce(0) { $0 + $1.added } == 1_956)
        #expect(try sandbox.records(target) == sandbox.records(source))
        #expect(try target.checkDigests().isEmpty)
        #expect(try target.currentToken().rawValue == 1)
        let history = try target.fetchHistory(after: .zero)
        #expect(history.first?.changes.count == 1_956)
    }

    /// Of two imports into one new store, one slept while the other finished and the app continued to write. When it woke, it overwrote the app's
    /// changes with
    /// its batches, and put everything into the history again.
    @Test(arguments: ["sqlite", "lmdb"])
    func anImportThatSleptWritesOverNothing(engine: String) throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.write { transaction in
            for number in 0..<2_100 { try transaction.insert(Draft(content: "\(number)")) }
        }
        let path = try sandbox.export(source, .json)
        let target: any EngineBackedStore =
            engine == "sqlite"
            ? try SQLiteHabitStore(path: sandbox.folder.path("target"), schema: HabitSchema.current)
            : try LMDBHabitStore(path: sandbox.folder.path("target"), schema: HabitSchema.current)
        defer { target.close() }
        var meanwhile: Result<Void, any Error>?
        let error = #expect(throws: HabitStoreError.self) {
            try sandbox.open(path).fill(target) { _, _ in
                guard meanwhile == nil else { return }
                meanwhile = Result {
                    _ = try sandbox.open(path).fill(target) { _, _ in }
                    try target.delete(#require(try target.all(Draft.self).first))
                }
            }
        }
        #expect(error?.code == .busy)
        try #require(meanwhile).get()
        #expect(try target.fetchCount(FetchDescriptor<Draft>()) == 2_099)
        #expect(try target.currentToken().rawValue == 3)
    }

    private func exportOfManyDrafts() throws -> String {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.write { transaction in
            for number in 0..<4_100 { try transaction.insert(Draft(content: "\(number)")) }
        }
        return try sandbox.export(source, .json)
    }

    /// Records that a stopped import had left were read, exported and copied as if they were complete.
    @Test func nobodyIsServedFromWhatAStoppedImportLeft() throws {
        let work = try sandbox.open(try exportOfManyDrafts())
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let entity = try target.schema.position(of: Draft.self)
        for _ in 0...1 {
            // The second import starts over, and is stopped as well.
            var stopped = try BulkLoad(target)
            let id = UUID()
            let values: [Value] = [.uuid(id), .string("half"), .date(Date(timeIntervalSince1970: 0)), .strings([])]
            try stopped.put([(entity, id, try EncodedRecord(values, layout: Draft.entity.layout))])
            #expect(try target.replicaRead { try $0.count(entity: entity) } == 1)
            #expect(try target.replicaRead { try $0.information().role } == .backfilling)
            let refusal = #expect(throws: HabitStoreError.self) { try target.all(Draft.self) }
            #expect(refusal?.code == .notAuthoritative)
            #expect(refusal?.message.contains("run it again") == true)
            #expect(throws: HabitStoreError.self) { try target.save(Draft(content: "late")) }
            #expect(try work.canFill(target))
        }
        #expect(try work.fill(target) { _, _ in }.differences == 0)
        #expect(try target.replicaRead { try $0.information().role } == .authoritative)
        #expect(try target.replicaRead { try $0.backfillState() } == nil)
        #expect(try target.fetchCount(FetchDescriptor<Draft>()) == 4_100)
        #expect(try !work.canFill(target))
    }

    /// A store without a history passed for one that a stopped import had left, and its records were removed.
    @Test func aStoreWithRecordsAndWithoutAHistoryKeepsThem() throws {
        let work = try sandbox.open(try exportOfManyDrafts())
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let mine = Tag(name: "mine")
        var writer = AttributeWriter(layout: Tag.entity.layout)
        try mine.write(to: &writer)
        let record = try writer.finish { EncodedRecord(copying: $0) }
        try target.replicate { try $0.put(entity: target.schema.position(of: Tag.self), id: mine.id, record) }
        #expect(try !work.canFill(target))
        let error = #expect(throws: HabitStoreError.self) { try work.fill(target) { _, _ in } }
        #expect(error?.code == .busy)
        #expect(try target.all(Tag.self) == [mine])
    }

    /// An import's mark differs from a copy's: each refuses what the other has begun.
    @Test func whatACopyHasBegunIsNotFilled() throws {
        let work = try sandbox.open(try exportOfManyDrafts())
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        try target.replicate { transaction in
            try transaction.setRole(.backfilling, epoch: 0)
            try transaction.setBackfillState(#"{"entity":0,"lineage":"\#(UUID().uuidString)"}"#)
        }
        let error = #expect(throws: HabitStoreError.self) { try work.fill(target) { _, _ in } }
        #expect(error?.code == .unsupported)
        // A store that meanwhile became a user's is not filled, at whatever token it is.
        for role in [StoreRole.authoritative, .standby, .backfilling] {
            let served = try InMemoryHabitStore(schema: HabitSchema.current)
            try served.replicate { try $0.setRole(role, epoch: 1) }
            let refusal = #expect(throws: HabitStoreError.self) { try work.fill(served) { _, _ in } }
            #expect(refusal?.code == .notAuthoritative)
        }
    }

    @Test(arguments: InterchangeFormat.allCases)
    func oddTextsNumbersAndDatesComeBackToTheLastBit(_ format: InterchangeFormat) throws {
        let seed = UInt64.random(in: 0 ... .max)
        let source = try InterchangeSandbox.oddStore(seed: seed)
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let report = try sandbox.open(try sandbox.export(source, format)).fill(target) { _, _ in }
        #expect(report.differences == 0, "seed \(seed)")
        #expect(try sandbox.records(target) == sandbox.records(source), "seed \(seed)")
    }

    @Test(arguments: InterchangeFormat.allCases)
    func aSchemaWithoutSwiftTypesComesBackWithItsDeclaration(_ format: InterchangeFormat) throws {
        let attributes = AttributeKind.allCases.flatMap { kind in
            [
                AttributeShape(name: kind.rawValue, kind: kind),
                AttributeShape(name: "\(kind.rawValue)?", kind: kind, isOptional: kind != .links),
            ]
        }
        let shape = EntityShape(name: "Odd", attributes: [.id] + attributes)
        let schema = Schema(shapes: [shape], version: Schema.Version(7, 1, 0))
        let source = try InMemoryHabitStore(schema: schema)
        let layout = schema.entities[0].layout
        try source.replicate { transaction in
            for number in 0..<3 {
                let id = DerivedID.make(["\(number)"])
                var values: [Value] = [.uuid(id)]
                for kind in AttributeKind.allCases {
                    let isNull = number == 0 && kind != .links
                    values += [Self.sample(kind, number), isNull ? .null : Self.sample(kind, number + 1)]
                }
                try transaction.put(entity: 0, id: id, try EncodedRecord(values, layout: layout))
            }
        }
        let work = try sandbox.open(try sandbox.export(source, format))
        let target = try InMemoryHabitStore(schema: try work.schema())
        #expect(try work.schema().version == Schema.Version(7, 1, 0))
        #expect(EntityShape(target.schema.entities[0]) == EntityShape(schema.entities[0]))
        #expect(try work.fill(target) { _, _ in }.differences == 0)
        #expect(try sandbox.records(target) == sandbox.records(source))
        // They cannot be stored as an app's records: their type is unknown.
        let error = #expect(throws: HabitStoreError.self) {
            try work.run(into: target, attachmentsIn: sandbox.folder.path("imports")) { _, _ in }
        }
        #expect(error?.code == .unsupported)
    }

    private static func sample(_ kind: AttributeKind, _ number: Int) -> Value {
        switch kind {
        case .bool: .bool(number % 2 == 0)
        case .int: .int(Int64.max - Int64(number))
        case .double: .double(0.1 * Double(number))
        case .string: .string(number == 1 ? "" : "text \(number)")
        case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number) / 3))
        case .uuid: .uuid(DerivedID.make(["sample", "\(number)"]))
        case .data: .data(Data(repeating: UInt8(number), count: number))
        case .strings: .strings(Array(repeating: "a,\"b\"\n", count: number))
        case .links: .links((0..<number).map { DerivedID.make(["link", "\($0)"]) })
        }
    }

    // MARK: Into a store that has records

    @Test(arguments: InterchangeFormat.allCases)
    func aStoreWithRecordsTakesWhatIsNewAndKeepsWhatIsItsOwn(_ format: InterchangeFormat) throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        let begun = Date(timeIntervalSinceReferenceDate: 0.1)
        let habits = ["Run", "Read", "Rest"].map { Habit(name: $0, createdAt: begun) }
        try source.insert(habits)
        try source.insert([Entry(date: Date(timeIntervalSinceReferenceDate: 1), habitID: habits[0].id)])
        let path = try sandbox.export(source, format)
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        var mine = habits[1]
        mine.name = "Mine"
        try target.insert([habits[0], mine])
        let imports = sandbox.folder.path("imports")
        let rehearsed = try sandbox.open(path).rehearse(into: target)
        #expect(rehearsed.entities.first { $0.entity == "Habit" }?.differing == 1)
        let report = try sandbox.open(path).run(into: target, attachmentsIn: imports) { _, _ in }
        let counts = try #require(report.entities.first { $0.entity == "Habit" })
        #expect((counts.added, counts.known, counts.differing) == (1, 1, 1))
        #expect(report.differences == 1)
        #expect(try target.model(Habit.self, id: mine.id)?.name == "Mine")
        var options = InterchangeImport.Options()
        options.updates = true
        let updated = try sandbox.open(path, options).run(into: target, attachmentsIn: imports) { _, _ in }
        #expect(updated.differences == 0)
        #expect(try target.all(Habit.self) == source.all(Habit.self))
        #expect(try target.currentToken().rawValue == 3)
    }

    @Test func referencesThatLeadNowhereAreCutAndKeptBesideTheStore() throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        let tag = Tag(name: "here")
        try source.insert([tag])
        let entity = try source.schema.position(of: Habit.self)
        let entries = try source.schema.position(of: Entry.self)
        var habit = Habit(name: "Run")
        habit.tagIDs = [tag.id, UUID()]
        let entry = Entry(habitID: UUID())
        try source.replicate { transaction in
            func put<M: PersistentModel>(_ model: M, _ entity: Int) throws {
                var writer = AttributeWriter(layout: source.schema.entities[entity].layout)
                try model.write(to: &writer)
                try transaction.put(entity: entity, id: model.id, try writer.finish { EncodedRecord(copying: $0) })
            }
            try put(habit, entity)
            try put(entry, entries)
        }
        let work = try sandbox.open(try sandbox.export(source, .json))
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let report = try work.run(into: target, attachmentsIn: sandbox.folder.path("imports")) { _, _ in }
        #expect(report.cut == 2)
        #expect(report.differences == 0)
        #expect(try target.model(Habit.self, id: habit.id)?.tagIDs == [tag.id])
        #expect(try target.model(Entry.self, id: entry.id)?.habitID == nil)
        let lines = try String(contentsOfFile: try #require(report.attachment), encoding: .utf8)
        #expect(lines.contains("\"Entry.habitID\"") && lines.contains("\"Habit.tagIDs\""))
        #expect(lines.contains(try #require(entry.habitID).uuidString))
    }

    @Test func aTagThatIsThereUnderAnotherIdentifierRefusesTheWholeImport() throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert([Habit(name: "Run")])
        try source.insert([Tag(name: "sport")])
        let work = try sandbox.open(try sandbox.export(source, .csv))
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        try target.insert([Tag(name: "sport")])
        let error = #expect(throws: HabitStoreError.self) {
            try work.run(into: target, attachmentsIn: sandbox.folder.path("imports")) { _, _ in }
        }
        #expect(error?.code == .uniqueViolation)
        #expect(error?.message.hasPrefix("line 2 of Tag.csv") == true)
        #expect(try target.all(Habit.self).isEmpty)
    }

    // MARK: Edited by hand

    @Test func membersMayStandInAnyOrderAndBeLaidOutInAnyWay() throws {
        let source = try InterchangeSandbox.oddStore(seed: 7)
        let data = try Data(contentsOf: URL(fileURLWithPath: try sandbox.export(source, .json)))
        // In the sorted form the records come before the schema.
        let object = try JSONSerialization.jsonObject(with: data)
        let sorted = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .prettyPrinted])
        try sandbox.folder.write("sorted.json", sorted)
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        _ = try sandbox.open(sandbox.folder.path("sorted.json")).fill(target) { _, _ in }
        #expect(try sandbox.records(target).map(\.count) == sandbox.records(source).map(\.count))
        // Foundation, which sorted the members here, drops a byte order mark within a text.
        let names = try source.all(Tag.self).map { $0.name.replacingOccurrences(of: "\u{FEFF}", with: "") }
        #expect(try target.all(Tag.self).map(\.name) == names)
    }

    @Test(arguments: InterchangeFormat.allCases)
    func aDateWhoseWordsWereChangedIsTheChangedOne(_ format: InterchangeFormat) throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert([Draft(content: "a", creationDate: Date(timeIntervalSinceReferenceDate: 1.0 / 3))])
        let path = try sandbox.export(source, format)
        let file = format == .csv ? path + "/Draft.csv" : path
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("2001-01-01T00:00:00.333Z"))
        try Data(text.replacingOccurrences(of: "2001-01-01T00:00:00.333Z", with: "2026-01-31").utf8)
            .write(to: URL(fileURLWithPath: file))
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        _ = try sandbox.open(path).fill(target) { _, _ in }
        #expect(try target.all(Draft.self).first?.creationDate == TextDate.parse("2026-01-31"))
    }

    @Test func aFileThatLostRowsIsRefusedUnlessItIsSaidToBeEdited() throws {
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert((0..<3).map { Tag(name: "tag \($0)") })
        let path = try sandbox.export(source, .csv)
        let file = URL(fileURLWithPath: path + "/Tag.csv")
        let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\r\n")
        try Data((lines.dropLast(2).joined(separator: "\n") + "\n").utf8).write(to: file)
        let target = try InMemoryHabitStore(schema: HabitSchema.current)
        let error = #expect(throws: HabitStoreError.self) { try sandbox.open(path).fill(target) { _, _ in } }
        #expect(error?.message.contains("2 records of Tag, and the export says 3") == true)
        var options = InterchangeImport.Options()
        options.isEdited = true
        _ = try sandbox.open(path, options).fill(target) { _, _ in }
        #expect(try target.all(Tag.self).count == 2)
    }
}
