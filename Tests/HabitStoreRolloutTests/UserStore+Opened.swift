@testable import HabitStoreRollout

extension UserStore {
    /// The open user, which this opens if needed.
    func opened() throws -> OpenUser {
        let lease = try files.lease()
        return lease.user
    }
}
