import Foundation
import HabitStoreTesting
import MappedTesting
import Testing

/// Everything that an engine has to prove, over tables laid out as an app would.
struct MappedContractTests {
    @Test(arguments: StoreContract.clauses)
    func keepsTheContractOverNumberedKeys(_ clause: StoreContract.Clause) async throws {
        try await clause.verify(AppLayout(keys: .numbers).subject)
    }

    /// All clauses with `make mapped-contract`, which takes minutes; otherwise a few, others each time.
    private static let clausesOverTextKeys =
        isWhole ? StoreContract.clauses : Array(StoreContract.clauses.shuffled().prefix(24))

    static let isWhole = ProcessInfo.processInfo.environment["HABITSTORE_MAPPED_CONTRACT"] != nil

    @Test(arguments: clausesOverTextKeys)
    func keepsTheContractOverTextKeys(_ clause: StoreContract.Clause) async throws {
        try await clause.verify(AppLayout(keys: .texts).subject)
    }

    @Test(arguments: isWhole ? AppLayout.Keys.allCases : [.numbers], [UInt64.random(in: 0...UInt64.max)])
    func answersWhatTheReferenceAnswers(_ keys: AppLayout.Keys, _ seed: UInt64) throws {
        print(try DifferentialTest(seed: seed).run(against: AppLayout(keys: keys).subject))
    }
}
