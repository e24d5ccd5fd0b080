import Foundation
import HabitStore

/// What one of a user's stores says of itself.
struct Standing: Sendable {
    let engine: EngineName
    /// Where the store is.
    let path: String
    private(set) var information: StoreInformation
    /// Nil in a store that no rollout has touched.
    let state: RolloutState?
    /// Whose store it says that it is, as ``UserDirectory/owner`` has it; nil in a store of an earlier version.
    var owner: String?
    /// The machine that it says its user belongs to.
    var machine: Machine?
    /// Whether other machines reach the store, too.
    var isShared = false
    /// Whether it was read past the engine's library, which cannot open the file: nothing can be written to it.
    var isRescued = false

    var role: StoreRole { information.role }
    var epoch: Int { information.epoch }
    var token: HistoryToken { information.token }
    var lineage: UUID { information.lineage }
    /// What a transaction that is to change the store must find.
    var place: StorePlace { StorePlace(role: role, epoch: epoch) }

    /// The same at an earlier token.
    func before(_ token: HistoryToken) -> Standing {
        var earlier = self
        earlier.information.token = token
        return earlier
    }
}
