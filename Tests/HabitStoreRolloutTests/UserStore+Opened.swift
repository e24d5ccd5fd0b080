@testable import HabitStoreRollout

extension UserStore {
    /// What is open of the user, who is opened if that is needed.
    func opened() throws -> OpenUser {
        let lease = try files.lease()
        return lease.user
    }
}
