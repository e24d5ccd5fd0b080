import Foundation
import HabitStore
import Synchronization

/// The status of one of a user's stores, as the store itself has it.
struct ReplicaStatus: Sendable {
    let engine: EngineName
    /// The store's path or address.
    let path: String
    private(set) var information: StoreInformation
    /// nil in a store that no rollout has touched.
    let state: RolloutState?
    /// The user whose store it says it is, in the form of ``UserDirectory/owner``; nil in a store of an earlier version.
    var owner: String?
    /// The machine that its user belongs to, if it names one.
    var machine: Machine?
    /// Whether other machines can reach the store too.
    var isShared = false
    /// The suffixes of the files next to the store that may have its last records.
    var logSuffixes: [String] = []
    /// Whether it was read without the engine's library, which cannot open the file, so that it cannot be written to.
    var isRescued = false

    var role: StoreRole { information.role }
    var epoch: Int { information.epoch }
    var token: HistoryToken { information.token }
    var lineage: UUID { information.lineage }
    /// The role and epoch that a transaction must find before it changes the store.
    var place: StorePlace { StorePlace(role: role, epoch: epoch) }

    /// The same status at an earlier token.
    func before(_ token: HistoryToken) -> ReplicaStatus {
        var earlier = self
        earlier.information.token = token
        return earlier
    }
}

extension ReplicaStatus {
    /// Whether the store serves, or was sealed in the middle of a move.
    var hasRole: Bool { role == .authoritative || role == .sealed }

    /// Whether the store serves, or has served: a new store is also authoritative, but in epoch 0.
    var hasServed: Bool { hasRole && epoch >= StageSwitch.firstEpoch }

    /// Whether this store served until another machine accepted the other store, so that it has transactions that the other one lacks: it is sealed
    /// for a move to its own stage.
    var isLeftBehind: Bool { role == .sealed && state?.movingTo != nil && state?.movingTo == state?.stage }

    /// Whether the store is the old one and known to have everything that was ever acknowledged or shown.
    var hasAllAcknowledged: Bool {
        guard let state, state.side(engine) == .old, !isLeftBehind else { return false }
        return role == .sealed
            ? state.movingTo != nil && state.movingTo != .complete : role == .standby && state.hasAllAcknowledged
    }
}

extension Sequence<ReplicaStatus> {
    /// The store whose rollout state counts: a store with a role before one without, then the one with the highest epoch. A sealed store with a
    /// higher epoch than any authoritative one was reopened once and left again, since a kill that was suspended gave the other store its epoch.
    var leading: ReplicaStatus? {
        func rank(_ status: ReplicaStatus) -> (Int, Int, Int, Int64) {
            let isServing = status.role == .authoritative ? 1 : 0
            return (status.hasRole ? 1 : 0, status.epoch, isServing, Int64(status.token.rawValue))
        }
        return self.max { rank($0) < rank($1) }
    }
}

/// The status of all of a user's stores.
struct ReplicaStatuses: Sendable {
    private(set) var statuses: [ReplicaStatus] = []
    /// The stores that could not be read, and why.
    private(set) var failures: [EngineName: HabitStoreError] = [:]
    /// The engines whose stores were asked, including those without a store.
    private(set) var answered: Set<EngineName> = []

    func status(_ engine: EngineName) -> ReplicaStatus? { statuses.first { $0.engine == engine } }

    var highestEpoch: Int { statuses.map(\.epoch).max() ?? 0 }
    /// Errors that the caller can resolve come first: a store of an earlier version is migrated, whatever is wrong with the other.
    var failure: HabitStoreError? {
        let inOrder = failures.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
        return inOrder.first { $0.code == .migrationRequired } ?? inOrder.first
    }

    /// Replaces the earlier answer of a store.
    mutating func note(_ engine: EngineName, _ answer: Result<ReplicaStatus?, any Error>, _ pair: StorePair) {
        answered.insert(engine)
        statuses.removeAll { $0.engine == engine }
        failures[engine] = nil
        switch answer {
        case .success(let status): statuses += status.map { [$0] } ?? []
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

/// Collects the status of stores on a thread that may hang in one of them.
final class StatusCollector: Sendable {
    private let answers = Mutex(ReplicaStatuses())

    /// The answers so far.
    var found: ReplicaStatuses { answers.withLock { $0 } }

    /// Reads a store's status; nil if it does not exist or cannot be read.
    func ask(_ engine: EngineName, _ pair: StorePair) -> ReplicaStatus? {
        let answer = Result { try pair.status(engine) }
        answers.withLock { $0.note(engine, answer, pair) }
        return try? answer.get()
    }
}
