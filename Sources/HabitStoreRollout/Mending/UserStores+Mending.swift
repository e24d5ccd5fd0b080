import Foundation
import HabitStore

extension UserStores {
    /// What is wrong with a user's folder, as far as that can be told without changing anything.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func examine(_ user: String) throws -> [UserFinding] {
        let directory = try known(user)
        return try UserExamination(directory, schema: schema(of: directory), options).findings()
    }

    /// Mends what can be mended without guessing: unfinished moves are finished or undone, what killed processes have left is
    /// removed, a store that has parted is set aside for the mirror to make a new one, and what is owed is written down.
    ///
    /// - Returns: what is left.
    /// - Throws: why something could not be mended.
    public func mend(_ user: String) throws -> [UserFinding] {
        let directory = try known(user)
        let findings = try examine(user).filter(\.canBeMended)
        guard !findings.isEmpty else { return try examine(user) }
        try Leftovers.removeUnused(in: directory, onlyKnown: false)
        if findings.contains(where: { $0.kind == .parted }) {
            try UserExamination(directory, schema: schema(of: directory), options).setPartedAside()
        }
        // Opening finishes or undoes what was begun, and writes down what is owed.
        let store = try store(for: user)
        defer { store.close() }
        _ = try store.recheck()
        store.record([])
        return try examine(user)
    }
}
