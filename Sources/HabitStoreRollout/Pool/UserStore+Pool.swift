import Foundation
import HabitStore

extension UserStore {
    /// The two stores of a user who is open; none while nobody has asked for them.
    struct Pair {
        private var pair: StorePair?

        mutating func open(_ directory: UserDirectory, _ schema: Schema, _ engines: Engines) -> StorePair {
            if let pair { return pair }
            let made = StorePair(directory: directory, schema: schema, engines: engines)
            pair = made
            return made
        }

        mutating func take() -> StorePair? {
            defer { pair = nil }
            return pair
        }
    }

    // MARK: Opening

    /// An operation begins: the user is opened if that is needed, and stays open until `route.end()`, which has to follow
    /// unless this throws.
    ///
    /// - Throws: why the user's stores cannot be opened.
    @inline(__always)
    func begin() throws {
        if !route.begin() { try openAgain() }
    }

    /// Runs `body` as an operation.
    func leased<R>(_ body: () throws -> R) throws -> R {
        try begin()
        defer { route.end() }
        return try body()
    }

    private func openAgain() throws {
        do {
            try open { routing in
                _ = try withSwitch(&routing) { routing, change in try reroute(&routing, change, flags.revision) }
            }
        } catch {
            route.end()
            throw error
        }
    }

    /// Opens the user within an operation, unless another one has; `work` has to install a route.
    func open(_ work: (inout Routing) throws -> Void) throws {
        let isOpened = try routing.withLock { routing in
            try requireOpen()
            guard route.isShut else { return false }
            try pool.enter(self)
            do {
                try work(&routing)
            } catch {
                letGo(&routing)?.close()
                pool.leave(self)
                throw error
            }
            route.open()
            return true
        }
        if isOpened { startAdvancing() }
    }

    /// - Throws: ``HabitStoreError/Code/closed`` when the app has closed the store.
    func requireOpen() throws {
        guard !isClosed else {
            throw HabitStoreError(
                .closed,
                "the user's store was closed; open it again",
                at: .init(path: directory.path)
            )
        }
    }

    // MARK: Closing

    /// Closes the user's files, so that another user can be opened, unless they are in use or were since this was asked last.
    ///
    /// - Parameter isPatient: whether a mirror that is behind, and reads that are not compared yet, keep the user open too.
    /// - Returns: whether the files were closed.
    func closeForAnother(isPatient: Bool) -> Bool {
        guard route.isUnused() else { return false }
        // A user who is being opened or moved is in use as well, and nobody is waited for here. Who wants this user back
        // meanwhile waits until the files are closed and the place is free.
        return routing.withLockIfAvailable { routing in
            guard !isClosed, !isPatient || isAtRest(routing) else { return false }
            // What was counted is on the disk before anything is forgotten.
            route.present?.shadow?.flush()
            anchorEvidence()
            let status = mirrorStatus
            guard route.shut() else { return false }
            restingMirror.withLock { $0 = status }
            advancer.withLock { $0 = nil }
            lanes.release()
            closeFiles(letGo(&routing))
            pool.leave(self)
            return true
        } ?? false
    }

    /// A disk that hangs must not hold up the user who wants in.
    private func closeFiles(_ pair: StorePair?) {
        do {
            try Deadline.run(seconds: options.stepLimitSeconds, path: directory.path) { _ in pair?.close() }
        } catch {
            options.logger.warning("a user's stores are being closed still: \(error)")
        }
    }

    private func isAtRest(_ routing: Routing) -> Bool {
        routing.mirror?.isAtRest != false && route.present?.shadow?.isAtRest != false
    }

    /// Forgets all that belongs to the open files; only while operations find them closed.
    ///
    /// - Returns: the stores, which are to be closed.
    private func letGo(_ routing: inout Routing) -> StorePair? {
        routing.mirror?.stop()
        routing.mirror = nil
        route.clear()
        control.store(nil, ordering: .releasing)
        routing.control = nil
        return pairs.withLock { $0.take() }
    }
}
