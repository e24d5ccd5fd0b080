import Foundation
import HabitStore
import ShadowVerifier

/// The two stores of one user, and the switch between them. The caller holds the folder's lock.
///
/// A switch seals the current store, so that no process writes to it any more, brings the other one to its token,
/// makes that authoritative with the next epoch, and then puts the first on standby. Killed in between, it is finished
/// or undone at the next open: as long as no store is authoritative the sealed one is the current one.
///
/// A store that serves a user has an epoch of 1 at least, and a file that was only just made has 0: a switch that was
/// killed right after making the other file cannot leave an empty store that passes for the current one.
struct UserStorePair {
    struct Current {
        let engine: EngineName
        let store: any UserStoreBackend
        let epoch: Int
    }

    struct Switched {
        let store: any UserStoreBackend
        let token: HistoryToken
        /// Why the store that was left is not on standby yet.
        let unfinished: HabitStoreError?
    }

    let directory: UserDirectory
    let schema: Schema

    private static let firstEpoch = 1

    /// A file that could be opened.
    private struct Opened {
        let engine: EngineName
        let store: any UserStoreBackend
        let information: StoreInformation

        /// The one that was handed the role last comes first; where that says nothing, the one that has come further.
        func isBefore(_ other: Opened) -> Bool {
            (information.epoch, information.token) > (other.information.epoch, other.information.token)
        }
    }

    // MARK: Finding the current store

    /// Opens the store that holds the user's current data; nil for a new user.
    ///
    /// - Throws: what is wrong with it. A store on standby is never taken in its place.
    func openCurrent() throws -> Current? {
        let (opened, failure) = openBoth(.readWrite)
        do {
            guard let found = try choose(opened, failure) else { return nil }
            for other in opened where other.engine != found.engine {
                // The last step of a switch that was killed before it.
                if found.information.role == .authoritative,
                    [.sealed, .authoritative].contains(other.information.role)
                {
                    try setRole(other.store, .standby, epoch: found.information.epoch)
                }
                other.store.close()
            }
            let epoch = max(Self.firstEpoch, found.information.epoch)
            if found.information.role != .authoritative || found.information.epoch != epoch {
                try setRole(found.store, .authoritative, epoch: epoch)
            }
            found.store.expect(epoch: epoch)
            return Current(engine: found.engine, store: found.store, epoch: epoch)
        } catch {
            for other in opened { other.store.close() }
            throw error
        }
    }

    /// Which engine's store holds the user's current data, without writing anything; nil for a new user.
    ///
    /// - Throws: as ``openCurrent()`` does.
    func currentEngine() throws -> EngineName? {
        let (opened, failure) = openBoth(.readOnly)
        defer { for other in opened { other.store.close() } }
        return try choose(opened, failure)?.engine
    }

    private func openBoth(_ access: StoreAddress.Access) -> (opened: [Opened], failure: HabitStoreError?) {
        var opened: [Opened] = []
        var failure: HabitStoreError?
        for engine in EngineName.allCases {
            let address = directory.address(engine)
            guard FileManager.default.fileExists(atPath: address.path) else { continue }
            do {
                let store = try address.open(access, schema: schema)
                let information = try store.replicaRead { try $0.information() }
                opened.append(Opened(engine: engine, store: store, information: information))
            } catch let error as HabitStoreError {
                failure = failure ?? error
            } catch {
                failure = failure ?? HabitStoreError(.inputOutput, "\(error)", at: .init(path: address.path))
            }
        }
        return (opened.sorted { $0.isBefore($1) }, failure)
    }

    /// The current one: authoritative, or sealed by a switch that got no further.
    private func choose(_ opened: [Opened], _ failure: HabitStoreError?) throws -> Opened? {
        // A store that never served anybody (epoch 0) decides nothing beside a file that cannot be read.
        if let found = opened.first(where: { $0.information.role == .authoritative }),
            failure == nil || found.information.epoch >= Self.firstEpoch
        {
            return found
        }
        // The file that cannot be read may be the one that was handed the role.
        if let failure { throw failure }
        if let sealed = opened.first(where: { $0.information.role == .sealed }) { return sealed }
        guard let standby = opened.first else { return nil }
        throw HabitStoreError(
            .notAuthoritative,
            "the user's current store is missing; the \(standby.engine.rawValue) store beside it is a copy at token "
                + "\(standby.information.token) and is not served in its place: restore the missing file",
            at: .init(path: directory.path)
        )
    }

    /// Makes a new user's store.
    func createFirst(_ engine: EngineName) throws -> any UserStoreBackend {
        let store = try directory.address(engine).open(.create, schema: schema)
        try setRole(store, .authoritative, epoch: Self.firstEpoch)
        store.expect(epoch: Self.firstEpoch)
        return store
    }

    // MARK: Switching

    /// Brings the other engine's store to the current one's token, verifies it, and hands the role over.
    ///
    /// - Throws: why the user stays: nothing was handed over then, and the current store takes writes as before.
    func switchEngine(
        from current: Current,
        to engine: EngineName,
        queries: [QueryFile.Query],
        _ progress: (String, Int, Int) -> Void
    ) throws -> Switched {
        let target = try directory.address(engine).open(.create, schema: schema)
        let token: HistoryToken
        do {
            token = try handOver(from: current, to: target, queries: queries, progress)
        } catch {
            target.close()
            throw error
        }
        // From here on the target is the current store, whatever happens to the one that was left: sealed, it takes no
        // writes, and the next open puts it on standby.
        target.expect(epoch: current.epoch + 1)
        var reason: HabitStoreError?
        do {
            try setRole(current.store, .standby, epoch: current.epoch + 1)
        } catch let error as HabitStoreError {
            reason = error
        }
        return Switched(store: target, token: token, unfinished: reason)
    }

    private func handOver(
        from current: Current,
        to target: any UserStoreBackend,
        queries: [QueryFile.Query],
        _ progress: (String, Int, Int) -> Void
    ) throws -> HistoryToken {
        // The long work is done while the current store still takes writes.
        _ = try Backfill(from: current.store, to: target).run { progress("copying", $0.done, $0.total) }
        try setRole(current.store, .sealed, epoch: current.epoch, expecting: (.authoritative, current.epoch))
        do {
            _ = try Backfill(from: current.store, to: target).run { progress("copying", $0.done, $0.total) }
            let token = try verify(current, target, queries, progress)
            try setRole(target, .authoritative, epoch: current.epoch + 1)
            return token
        } catch {
            // A commit that failed may have happened: only reading again tells who has the role.
            let taken = try target.replicaRead { try $0.information().role } == .authoritative
            if !taken { try setRole(current.store, .authoritative, epoch: current.epoch) }
            throw error
        }
    }

    private func verify(
        _ current: Current,
        _ target: any UserStoreBackend,
        _ queries: [QueryFile.Query],
        _ progress: (String, Int, Int) -> Void
    ) throws -> HistoryToken {
        var options = VerificationOptions()
        options.queries = queries
        let verifier = ShadowVerifier(
            .init(name: current.engine.rawValue, store: current.store),
            .init(name: current.engine.other.rawValue, store: target),
            options: options
        )
        let report = try verifier.run { progress("verifying", $0.done, $0.total) }
        guard report.verdict == .match else {
            let first = report.reason ?? report.differences.first?.message ?? ""
            throw HabitStoreError(
                .unsupported,
                "the verification found \(report.differenceCount) differences, first: \(first)",
                at: .init(path: directory.path)
            )
        }
        return report.a.information.token
    }

    /// Sets a role inside the store's own transaction, where another process's switch would be seen.
    private func setRole(
        _ store: any UserStoreBackend,
        _ role: StoreRole,
        epoch: Int,
        expecting: (role: StoreRole, epoch: Int)? = nil
    ) throws {
        try store.replicate { replica in
            let information = try replica.information()
            if let expecting, (information.role, information.epoch) != expecting {
                throw HabitStoreError(.notAuthoritative, "another process has switched this user's store meanwhile")
            }
            try replica.setRole(role, epoch: epoch)
        }
    }
}
