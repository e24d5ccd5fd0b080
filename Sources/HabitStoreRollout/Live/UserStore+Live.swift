@_spi(Engines) import HabitStore

extension UserStore: LiveSource {
    /// The live queries of the user. They continue whichever store answers, and whether or not the user's files are open. The files are opened to
    /// read changes, not to find out whether there are any.
    public var liveQueries: LiveQueries { follower.queries }

    /// Runs `body` over one moment of the store that answers at the user's stage, without comparing or recording the read.
    package func readForLiveQueries(_ body: (any ReadTransaction) throws -> Void) throws {
        do {
            return try readNow(body)
        } catch let error as HabitStoreError where error.isDamage || error.code == .closed && !files.isClosed {
            // The user was taken to the intact store, or a file was replaced: the next read succeeds.
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
            // Read before the snapshot is chosen, which then contains everything acknowledged by now.
            let mark = lease.user.control?.mark ?? .zero
            do {
                return try lease.user.read(isRecorded: false) { transaction in
                    guard try transaction.currentToken() >= mark else { throw OpenUser.Behind() }
                    try body(transaction)
                }
            } catch is OpenUser.Behind {
                // The recheck refuses a store that was restored from a copy, unless it was adopted meanwhile.
                _ = try lease.user.recheck()
            }
        }
        throw lease.user.unsteady()
    }

    /// Whether the user's open files are no longer those in the folder.
    package var isOutOfPlace: Bool { files.leases.openUser?.isOutOfPlace ?? false }

    /// The number in the user's control file that changes with writes and moves by any process; nil if there is no control file.
    package var changeNumber: UInt64? { follower.changeNumber }

    /// Calls `wake` after changes to the user's control file, until the result is released.
    package func observeChanges(_ wake: @escaping @Sendable () -> Void) -> (any AnyObject & Sendable)? {
        follower.observe(wake)
    }
}
