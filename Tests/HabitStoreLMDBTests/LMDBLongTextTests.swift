import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreTesting
import Testing

@Suite("LMDB and texts that are longer than its keys")
struct LMDBLongTextTests {
    private let folder: TemporaryFolder
    private let store: LMDBHabitStore
    private let reference: InMemoryHabitStore

    init() throws {
        folder = try TemporaryFolder()
        store = try LMDBHabitStore(path: folder.store, schema: LMDBNote.schema)
        reference = try InMemoryHabitStore(schema: LMDBNote.schema)
    }

    private func save(_ notes: [LMDBNote]) throws {
        try store.insert(notes)
        try reference.insert(notes)
    }

    @Test func textsThatAgreeForSixHundredBytesAreFoundAndOrdered() throws {
        let start = String(repeating: "long ", count: 120)
        let ends = ["b", "", "a", "é", "a\0", "c", "aa"]
        try save(ends.map { LMDBNote(title: start + $0, subtitle: $0 == "c" ? nil : start + $0, rank: $0.utf8.count) })
        try save([LMDBNote(title: "long"), LMDBNote(title: "longer"), LMDBNote(title: start + "b", rank: 9)])
        for end in ends + ["x"] {
            let text = start + end
            for filter in [
                "title == \"\(text)\"", "title > \"\(text)\"", "title >= \"\(text)\"", "title < \"\(text)\"",
                "title <= \"\(text)\"", "title BEGINSWITH \"\(text)\"", "title IN [\"\(text)\", \"long\"]",
                "subtitle == \"\(text)\" AND title >= \"\(text)\"", "subtitle == \"\(text)\" AND rank == 1",
            ] {
                for key in [SortDescriptor(\LMDBNote.title), SortDescriptor(\LMDBNote.title, order: .reverse)] {
                    let descriptor = FetchDescriptor<LMDBNote>(
                        filter: try FilterExpression(text: filter.replacingOccurrences(of: "\0", with: "\\u0000")),
                        sortBy: [key]
                    )
                    #expect(try store.fetch(descriptor) == reference.fetch(descriptor), "\(filter.suffix(40))")
                    #expect(try store.fetchCount(descriptor) == reference.fetchCount(descriptor))
                }
            }
        }
        let ordered = FetchDescriptor<LMDBNote>(sortBy: [SortDescriptor(\.title)], fetchLimit: 5)
        #expect(try store.read { try $0.explain(ordered) }.orderIsNative)
        #expect(try store.fetch(ordered) == reference.fetch(ordered))
        #expect(try store.check { _ in }.isEmpty)
    }

    @Test(arguments: [51, 52, 53] as [UInt64])
    func everyIndexGivesWhatTheReferenceGives(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let notes = (0..<120).map { _ in LMDBNoteSample.note(&random) }
        try save(notes)
        // Changed and deleted ones, too.
        for note in notes.prefix(60) {
            var changed = LMDBNoteSample.note(&random)
            changed.id = note.id
            try store.save(changed)
            try reference.save(changed)
        }
        for note in notes.suffix(20) {
            #expect(try store.delete(note))
            #expect(try reference.delete(note))
        }
        let paths: [SortDescriptor<LMDBNote>] = [
            SortDescriptor(\.title), SortDescriptor(\.rank), SortDescriptor(\.stamp), SortDescriptor(\.id),
            SortDescriptor(\.title, order: .reverse), SortDescriptor(\.rank, order: .reverse),
            SortDescriptor(\.id, order: .reverse), SortDescriptor(\.subtitle), SortDescriptor(\.weight),
            SortDescriptor(\.subtitle, order: .reverse), SortDescriptor(\.weight, order: .reverse),
        ]
        var native = 0
        for _ in 0..<400 {
            var descriptor = FetchDescriptor<LMDBNote>(filter: filter(&random, notes))
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                descriptor.sortBy.append(try #require(paths.randomElement(using: &random)))
            }
            descriptor.fetchLimit = Bool.random(using: &random) ? nil : Int.random(in: 0...9, using: &random)
            descriptor.fetchOffset = Bool.random(using: &random) ? 0 : Int.random(in: 0...4, using: &random)
            let explanation = try store.read { try $0.explain(descriptor) }
            if explanation.method == .native { native += 1 }
            let comment = Comment(rawValue: "seed \(seed), \(explanation.accessPath), \(descriptor.sortBy.count) keys")
            #expect(try store.fetch(descriptor).map(\.id) == reference.fetch(descriptor).map(\.id), comment)
            #expect(try store.fetchCount(descriptor) == reference.fetchCount(descriptor), comment)
        }
        #expect(native > 50)
        #expect(try store.check { _ in }.allSatisfy { $0.kind == "oddDate" })
    }

    private func filter(_ random: inout SeededGenerator, _ notes: [LMDBNote]) -> FilterExpression {
        let note = notes.randomElement(using: &random) ?? LMDBNote()
        let comparisons: [FilterExpression.Comparison] = [
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
        ]
        func attribute(_ name: String) -> FilterExpression { .attribute(AttributePath(name)) }
        func one() -> FilterExpression {
            let comparison = comparisons.randomElement(using: &random) ?? .equal
            switch Int.random(in: 0..<12, using: &random) {
            case 0: return .compare(comparison, attribute("title"), .literal(.string(note.title)))
            case 1:
                return .compare(comparison, attribute("subtitle"), .literal(note.subtitle.map { .string($0) } ?? .null))
            case 2: return .compare(comparison, attribute("rank"), .literal(.int(Int64(note.rank))))
            case 3: return .compare(comparison, attribute("weight"), .literal(note.weight.map { .double($0) } ?? .null))
            case 4: return .compare(comparison, .literal(.date(note.stamp)), attribute("stamp"))
            case 5: return .not(attribute("isDone"))
            case 6: return attribute("isDone")
            case 7:
                let end = note.title.prefix(Int.random(in: 0...600, using: &random))
                return .text(.beginsWith, attribute("title"), .literal(.string(String(end))))
            case 8: return .isIn(attribute("rank"), [.int(0), .int(Int64(note.rank)), .int(Int64.max), .int(0)])
            case 9:
                return .isIn(attribute("subtitle"), [.null, .string(note.title), .string(note.subtitle ?? "x")])
            case 10: return .text(.contains, attribute("links"), .literal(.uuid(LMDBNoteSample.small(note.rank & 3))))
            default:
                return .compare(.equal, attribute("reference"), .literal(note.reference.map { .uuid($0) } ?? .null))
            }
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return one()
        case 1: return .any([one(), one()])
        case 2: return .all([one(), .any([one(), one()])])
        default: return .all([one(), one(), one()])
        }
    }
}
