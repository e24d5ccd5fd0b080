import Foundation
import HabitStore

/// The status of one of a user's stores, as the store itself has it.
struct Standing: Sendable {
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
    /// Whether it was read without the engine's library, which cannot open the file, so that it cannot be written to.
    var isRescued = false

    var role: StoreRole { information.role }
    var epoch: Int { information.epoch }
    var token: HistoryToken { information.token }
    var lineage: UUID { information.lineage }
    /// The role and epoch that a transaction must find before it changes the store.
    var place: StorePlace { StorePlace(role: role, epoch: epoch) }

    /// The same status at an earlier token.
    func before(_ token: HistoryToken) -> Standing {
        var earlier = self
        earlier.information.token = token
        return earlier
    }
}
