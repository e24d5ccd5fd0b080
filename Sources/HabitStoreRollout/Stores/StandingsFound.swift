import HabitStore

/// The status of all of a user's stores.
struct StandingsFound: Sendable {
    private(set) var standings: [Standing] = []
    /// The stores that could not be read, and why.
    private(set) var failures: [EngineName: HabitStoreError] = [:]
    /// The engines whose stores were asked, including those without a store.
    private(set) var answered: Set<EngineName> = []

    func standing(_ engine: EngineName) -> Standing? { standings.first { $0.engine == engine } }

    var highestEpoch: Int { standings.map(\.epoch).max() ?? 0 }
    /// Errors that the caller can resolve come first: a store of an earlier version is migrated, whatever is wrong with the other.
    var failure: HabitStoreError? {
        let inOrder = failures.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
        return inOrder.first { $0.code == .migrationRequired } ?? inOrder.first
    }

    /// Replaces the earlier answer of a store.
    mutating func note(_ engine: EngineName, _ answer: Result<Standing?, any Error>, _ pair: StorePair) {
        answered.insert(engine)
        standings.removeAll { $0.engine == engine }
        failures[engine] = nil
        switch answer {
        case .success(let standing): standings += standing.map { [$0] } ?? []
        case .failure(let error as HabitStoreError): failures[engine] = error
        case .failure(let error):
            failures[engine] = HabitStoreError(
                .inputOutput,
                "\(error)",
                at: .init(path: pair.address(engine).path)
            )
        }
    }
}
