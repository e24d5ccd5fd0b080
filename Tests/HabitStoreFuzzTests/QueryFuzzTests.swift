import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing
import Trials

@_spi(Engines) @testable import HabitStoreTesting

@Suite("Random queries over the whole language")
struct QueryFuzzTests {
    /// 10,000 queries in all; `make fuzz` puts as many as time allows.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func everyStoreAnswersAsFoundationDoes(seed: UInt64) throws {
        let fuzz = QueryFuzz(
            seed: seed,
            data: [try .specimens(seed: seed), try .habits(seed: seed)],
            subjects: seed == 1 ? [.sqlite, .lmdb, .mapped, .inMemory] : [.sqlite, .lmdb, .inMemory]
        )
        let report = try fuzz.run(.queries(2_500))
        print(report)
        #expect(report.answered > 1_000)
        #expect(report.failed > 20)
    }

    @Test func theSameSeedGivesTheSameQueries() throws {
        let (first, second) = (FuzzProfile(try .specimens(seed: 1)), FuzzProfile(try .specimens(seed: 1)))
        let fuzz = QueryFuzz(seed: 9, data: [], subjects: [])
        let queries = (0..<300).map { fuzz.query($0, first) }
        #expect(queries == (0..<300).map { fuzz.query($0, second) })
        #expect(Set(queries).count > 290)
    }

    @Test func theGeneratorKnowsTheWholeLanguage() throws {
        let profile = FuzzProfile(try .specimens(seed: 1))
        let fuzz = QueryFuzz(seed: 3, data: [], subjects: [])
        var seen: Set<String> = []
        var forms: Set<FuzzQuery.Form> = []
        for number in 0..<10_000 {
            let query = fuzz.query(number, profile)
            forms.insert(query.form)
            _ = query.condition.contains { node in
                switch node {
                case .operation(let operation, _, _): seen.insert(String("\(operation)".prefix { $0 != "(" }))
                case .binding(let binding, _, _, _, _): seen.insert("\(binding)")
                default: break
                }
                return false
            }
        }
        let language: Set<String> = [
            "and", "or", "not", "conditional", "coalesce", "forcedUnwrap", "compare", "order", "arithmetic", "negate",
            "inRange", "inPartialRange", "isIn", "text", "caseOrder", "listBegins", "listHasPart", "matches", "length",
            "isEmpty", "first", "last", "least", "greatest", "hasElement", "element", "lookup", "rawValue", "typeCheck",
            "conditionalCast", "forceCast", "flatMap", "some", "every", "filter",
        ]
        #expect(seen == language)
        #expect(forms.count == 4)
    }

    @Test func everyQueryIsPutToTheStoresInAnyForm() throws {
        let data = try FuzzData.specimens(seed: 1)
        let bench = try FuzzBench(data, [.inMemory])
        defer { bench.close() }
        let fuzz = QueryFuzz(seed: 5, data: [data], subjects: [.inMemory])
        for number in 0..<200 {
            var query = fuzz.query(number, FuzzProfile(data))
            guard query.condition.isPredicate, query.question != .records else { continue }
            for form in [FuzzQuery.Form.predicate(isErased: true), .predicate(isErased: false), .composed] {
                query.form = form
                let (expected, found) = try bench.answers(query)
                #expect(expected.agrees(with: found[0]), "query \(number) as \(form)")
            }
        }
    }

    @Test func aStoreThatTakesNilForUnknownIsCaughtAndShrunkToOneRecord() throws {
        let fuzz = QueryFuzz(seed: 1, data: [try .habits(seed: 1)], subjects: [.sqlMinded])
        let disagreement = try #require(throws: FuzzDisagreement.self) { try fuzz.run(.queries(20_000)) }
        print(disagreement)
        #expect(disagreement.records == 1)
        #expect(disagreement.nodes <= 8)
        #expect(disagreement.test.contains("category !="))
        #expect(disagreement.test.contains("FuzzReplay(.liar, schema: HabitSchema.current"))
    }

    @Test func aHuntTellsHowManyQueriesAMutantTook() throws {
        let hunt = MutantHunt(
            seed: 1,
            data: [try .habits(seed: 1)],
            mutants: [.sqlMinded, .hasty, .inMemory],
            limit: 2_000
        )
        let table = try hunt.run()
        print(table)
        #expect(table.outcomes.map(\.name) == ["liar", "hasty", "in memory"])
        #expect(table.outcomes[0].queries != nil)
        #expect(table.outcomes[1].queries != nil)
        #expect(table.outcomes[2].queries == nil)
        #expect(!table.isComplete)
    }

    @Test func aReplayKeepsTheRecordsAsTheyAre() throws {
        let id = UUID()
        let layout = HabitSchema.current.entities[2].layout
        let decomposed = try EncodedRecord([.uuid(id), .string("caf\u{e9}")], layout: layout)
        let replay = try FuzzReplay(
            .sqlite,
            schema: HabitSchema.current,
            records: [.init("Tag", encoded: Data(decomposed.bytes).base64EncodedString())]
        )
        defer { replay.close() }
        #expect(try replay.store.read { try $0.all(Tag.self) } == [Tag(id: id, name: "caf\u{e9}")])
        #expect(throws: HabitStoreError.self) {
            try FuzzReplay(.inMemory, schema: HabitSchema.current, records: [.init("Tag", encoded: "?")])
        }
    }
}
