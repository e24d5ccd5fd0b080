@_spi(Engines) import HabitStore

extension UserStore: LiveSource {
    /// The live queries of the user. They go on whichever store answers, and whether or not the user's files are open: those are
    /// opened to tell what has been written, and not to find out whether anything has.
    public var liveQueries: LiveQueries { follower.queries }

    /// Runs `body` over one moment of the store that answers at the user's stage; nothing of it is compared or recorded.
    package func readForLiveQueries(_ body: (any ReadTransaction) throws -> Void) throws {
        do {
            return try readNow(body)
        } catch let error as HabitStoreError where error.isDamage || error.code == .closed && !files.isClosed {
            // The user has been taken to the store that is sound, or a file was replaced: the next read is answered.
            return try readNow(body)
        }
    }

    private func readNow(_ body: (any ReadTransaction) throws -> Void) throws {
        if files.leases.isShut { try files.requireStores() }
        let lease = try files.lease()
        if lease.user.isOutOfPlace {
            try files.requireStores()
            try lease.user.reroute()
        }
        for _ in 0..<OpenUser.maximumAttempts {
            // Before the moment is chosen: what is acknowledged by then is in it.
            let mark = lease.user.control?.mark ?? .zero
            do {
                return try lease.user.read(isRecorded: false) { transaction in
                    guard try transaction.currentToken() >= mark else { throw OpenUser.Behind() }
                    try body(transaction)
                }
            } catch is OpenUser.Behind {
                // Whoever finds out where the user is refuses a store that was put back, unless it was adopted meanwhile.
                _ = try lease.user.recheck()
            }
        }
        throw lease.user.unsteady()
    }

    /// Whether the user's open files are not those that stand in the folder any more.
    package var isOutOfPlace: Bool { files.leases.openUser?.isOutOfPlace ?? false }

    /// What the user's control file says of writes and moves, in whatever process; nil where there is none.
    package var changeNumber: UInt64? { follower.changeNumber }

    /// Has the user's control file wake whoever follows the user.
    package func observeChanges(_ wake: @escaping @Sendable () -> Void) -> (any AnyObject & Sendable)? {
        follower.observe(wake)
    }
}
