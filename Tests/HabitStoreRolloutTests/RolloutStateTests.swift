import Foundation
import HabitStore
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A store's rollout state is read alike from a store and from the plan of a restore.
struct RolloutStateTests {
    private static let states: [RolloutState] = Stage.allCases.flatMap { stage in
        EngineName.standard.flatMap { old in
            [false, true].flatMap { isKilled in
                ([nil] + Stage.allCases).flatMap { movingTo in
                    [nil, EvidenceHead(sequence: 0, hash: String(repeating: "0", count: 64)), head].map { evidence in
                        var state = RolloutState(
                            stage: stage,
                            engines: Engines.standard.pair(old: old),
                            isKilled: isKilled,
                            movingTo: movingTo
                        )
                        state.evidence = evidence
                        state.placedBy = isKilled ? .percentage : movingTo.map { _ in .rule }
                        state.pairedBy = isKilled ? .percentage : nil
                        state.vouched = evidence.map { $0.sequence == 0 ? "" : "1-12,14-4711" }
                        return state
                    }
                }
            }
        }
    }

    private static let head = EvidenceHead(sequence: 4711, hash: String(repeating: "0123456789abcdef", count: 4))

    @Test func everyStateIsReadAsItIsWritten() throws {
        for state in Self.states {
            let text = try state.encoded()
            #expect(try RolloutState(parsing: text, path: nil) == state)
            #expect(try JSONDecoder().decode(RolloutState.self, from: Data(text.utf8)) == state)
        }
        #expect(Self.states.count == 6 * 2 * 2 * 7 * 3)
    }

    @Test(arguments: [
        #"{ "isKilled": true, "old": "lmdb", "stage": "live" }"#,
        #"{"stage":"live","old":"lmdb","isKilled":true}"#,
        #"{"isKilled":true,"old":"lmdb","stage":"live","later":1}"#,
        #"{"isKilled":true,"old":"lmdb","stage":"l\u0069ve"}"#,
    ])
    func otherFormsOfTheSameAreReadToo(text: String) throws {
        #expect(
            try RolloutState(parsing: text, path: nil)
                == RolloutState(stage: .live, engines: Engines.standard.pair(old: .lmdb), isKilled: true)
        )
    }

    @Test(arguments: [
        "", "{", "{}", #"{"isKilled":true,"old":"lmdb"}"#, #"{"isKilled":true,"old":"lmdb","stage":"nowhere"}"#,
        #"{"isKilled":1,"old":"lmdb","stage":"live"}"#, #"{"isKilled":true,"old":"lmdb","stage":"live"}}"#,
        #"{"isKilled":true,"old":"lmdb","stage":"live"#,
        #"{"evidence":{"hash":"0","sequence":99999999999999999999},"isKilled":true,"old":"lmdb","stage":"live"}"#,
    ])
    func anythingElseIsDamage(text: String) {
        let error = #expect(throws: HabitStoreError.self) { try RolloutState(parsing: text, path: "there") }
        #expect(error?.code == .corrupt)
        #expect(error?.location.path == "there")
    }
}
