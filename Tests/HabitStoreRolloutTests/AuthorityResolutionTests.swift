import Foundation
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStore
@testable import HabitStoreRollout

/// The rule that decides which store serves, as a table of all states of a pair of stores.
struct AuthorityResolutionTests {
    /// The state of one of the two stores.
    enum Word: String, CaseIterable {
        case absent
        /// Its file is damaged.
        case damaged
        /// It cannot be read now.
        case busy
        /// It was just created, and has never served a user.
        case unborn
        /// It serves, at epoch 2.
        case serves
        /// It was left in a move at epoch 2.
        case sealed
        /// It was left at epoch 1 with an unacknowledged write, and has been sealed since. A later move away from the serving store that failed left
        /// both sealed: the old one was to take its role again, which it never could, and no process could open the user.
        case left
        /// It follows at epoch 2; the old one claims to have everything.
        case standby
        /// A copy into it is not finished.
        case unfinished
        /// It is read without the engine's library, and serves at epoch 2.
        case rescued
        /// It serves, at epoch 2, another user.
        case foreign
    }

    /// The knowledge from the control file.
    enum Knowledge: CaseIterable {
        case nothing
        /// That the user has reached epoch 2 and token 5.
        case allOfIt
        /// That the user has reached epoch 3, which no store has.
        case more
    }

    /// Rows are the old store's words, columns the new one's, in the order of ``Word``.
    ///
    /// `o` and `n`: that store serves; `O` and `N`: it was sealed and takes its role again; `<`: the old one takes over; `-`: neither; `x`: refused.
    private static let tables: [Knowledge: [String]] = [
        .nothing: [
            "-xxnnNNxxnx",
            "xxxxnxxxxnx",
            "xxxxnxxxxnx",
            "oxxonNNxoxx",
            "ooooooooooo",
            "OOOOnOOOOOO",
            "OxxOnNOOOOO",
            "<<x<nNN<<<<",
            "xxxnnNNxxnx",
            "oooxnNNoooo",
            "xxxxnNNxxnx",
        ],
        // A newly created store is not taken for the user's, and "neither" is not an answer.
        .allOfIt: [
            "xxxxnNxxxnx",
            "xxxxnxxxxnx",
            "xxxxnxxxxnx",
            "xxxxnNxxxxx",
            "ooooooooooo",
            "OOOOnOOOOOO",
            "xxxxnNxxxxx",
            "<<x<nNx<<<<",
            "xxxxnNxxxnx",
            "oooxnNxoooo",
            "xxxxnNxxxnx",
        ],
        .more: Array(repeating: "xxxxxxxxxxx", count: 11),
    ]

    @Test(arguments: Knowledge.allCases) func everyPairOfWordsHasOneAnswer(knowledge: Knowledge) throws {
        let rows = try rows(knowledge, isKilled: false)
        print(rows.joined(separator: "\n"))
        #expect(rows == Self.tables[knowledge])
    }

    /// A new store that cannot be read now is left when the kill switch is pulled, and waited for otherwise.
    @Test func aKillLeavesAStoreThatDoesNotAnswer() throws {
        var expected = try #require(Self.tables[.nothing])
        expected[7] = "<<<<nNN<<<<"
        #expect(try rows(.nothing, isKilled: true) == expected)
    }

    private func rows(_ knowledge: Knowledge, isKilled: Bool) throws -> [String] {
        let folder = try TemporaryFolder()
        let directory = try UserDirectory(root: folder.path("root"), user: "alice")
        let witness = StatusCheck(directory, try control(knowledge, folder))
        return try Word.allCases.map { old in
            try Word.allCases.map { new in
                let found = try found(old, new, directory)
                return letter(AuthorityResolution(found, Self.engines, witness, isKilled: isKilled).answer)
            }.joined()
        }
    }

    private func control(_ knowledge: Knowledge, _ folder: TemporaryFolder) throws -> ControlFile? {
        guard knowledge != .nothing else { return nil }
        let control = try ControlFile(path: folder.path("control"))
        control.note(lineage: Self.lineage)
        control.publish(.shadow, epoch: knowledge == .allOfIt ? 2 : 3)
        control.noteAcknowledged(HistoryToken(rawValue: 5))
        return control
    }

    private static let engines = EnginePair(old: .sqlite, new: .lmdb)

    private func letter(_ answer: AuthorityResolution.Answer) -> String {
        switch answer {
        case .nobody: "-"
        case .serves(let status): status.engine == .sqlite ? "o" : "n"
        case .acceptedElsewhere: "e"
        case .reopens(let status): status.engine == .sqlite ? "O" : "N"
        case .finishes: "!"
        case .takesOver: "<"
        case .refused: "x"
        }
    }

    private func found(_ old: Word, _ new: Word, _ directory: UserDirectory) throws -> ReplicaStatuses {
        let pair = StorePair(directory: directory, schema: HabitSchema.current, engines: .standard)
        var found = ReplicaStatuses()
        for (engine, word) in [(EngineName.sqlite, old), (.lmdb, new)] {
            found.note(engine, answer(engine, word), pair)
        }
        return found
    }

    private func answer(_ engine: EngineName, _ word: Word) -> Result<ReplicaStatus?, any Error> {
        switch word {
        case .absent: return .success(nil)
        case .damaged: return .failure(HabitStoreError(.corrupt, "the file is damaged"))
        case .busy: return .failure(HabitStoreError(.busy, "another process has it"))
        case .unborn: return .success(status(engine, .authoritative, epoch: 0, at: nil))
        case .serves: return .success(status(engine, .authoritative))
        case .sealed: return .success(status(engine, .sealed, movingTo: engine == .sqlite ? .live : .shadow))
        case .left:
            return .success(status(engine, .sealed, epoch: 1, movingTo: engine == .sqlite ? .complete : .off))
        case .standby: return .success(status(engine, .standby, at: engine == .sqlite ? .live : .shadow))
        case .unfinished: return .success(status(engine, .backfilling, at: nil))
        case .rescued:
            var rescued = status(engine, .authoritative)
            rescued.isRescued = true
            return .success(rescued)
        case .foreign:
            var foreign = status(engine, .authoritative)
            foreign.owner = "another"
            return .success(foreign)
        }
    }

    private static let lineage = UUID()

    /// - Parameter stage: nil in a store without a record of the rollout; by default the stage at which the store serves.
    private func status(
        _ engine: EngineName,
        _ role: StoreRole,
        epoch: Int = 2,
        at stage: Stage?? = .none,
        movingTo: Stage? = nil
    ) -> ReplicaStatus {
        let serving: Stage = engine == .sqlite ? .shadow : .live
        let told = stage ?? serving
        return ReplicaStatus(
            engine: engine,
            path: "/\(engine.rawValue)",
            information: StoreInformation(
                storeID: UUID(),
                lineage: Self.lineage,
                token: HistoryToken(rawValue: 5),
                historyFloor: .zero,
                role: role,
                epoch: epoch
            ),
            state: told.map { RolloutState(stage: $0, engines: Self.engines, movingTo: movingTo) },
            owner: nil
        )
    }
}
