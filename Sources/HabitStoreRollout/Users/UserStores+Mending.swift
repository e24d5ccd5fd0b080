import Foundation
import HabitStore

extension UserStores {
    /// Finds what is wrong with a user's folder, without changing anything.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func examine(_ user: String) throws -> [UserFinding] {
        let directory = try known(user, mayBeErased: true)
        return try UserExamination(directory, schema: schema(of: directory), engines, options).findings()
    }

    /// Repairs what needs no guess: finishes or undoes interrupted moves, removes what killed processes left, sets aside a diverged or damaged store
    /// that does not serve so that it is copied again, and writes what is owed.
    ///
    /// - Returns: the remaining findings.
    /// - Throws: why something could not be repaired.
    public func mend(_ user: String) throws -> [UserFinding] {
        let directory = try known(user, mayBeErased: true)
        let findings = try examine(user).filter(\.canBeMended)
        // Leaves a folder alone that is labelled as another user's.
        guard !findings.isEmpty, directory.label != .another else { return try examine(user) }
        try Leftovers.removeUnused(in: directory, engines, onlyKnown: false)
        if findings.contains(where: { $0.kind == .parted || $0.kind == .unreadable }) {
            try UserExamination(directory, schema: schema(of: directory), engines, options).setAside()
        }
        // Opening finishes or undoes interrupted moves, and writes owed evidence.
        let store = try store(
            for: user,
            finishesMigration: findings.contains { $0.kind == .unfinishedMigration },
            mayBegin: true
        )
        defer { store.close() }
        let lease = try store.files.lease()
        let open = lease.user
        try open.settleBoth()
        let actual = try open.recheck().actual
        if actual.stage.awaitsMirror, actual.obstacle != nil {
            _ = try open.bringUp(actual.other, to: actual)
            _ = try open.recheck()
        }
        // A mirror that is being rebuilt is not a complete store when the following starts.
        _ = open.leases.load()?.mirror?.settle(waitSeconds: options.stepLimitSeconds)
        open.record([])
        return try examine(user)
    }
}

extension OpenUser {
    /// Also corrects the store that does not serve, which openings do not read while the other one decides.
    func settleBoth() throws {
        try state.withLock { state in
            try withSwitch { look in
                var look = look
                look.change.looksAtBoth = true
                _ = try settle(look, state.wanted?.engines ?? context.engines.pair())
            }
        }
    }
}
