@_spi(Engines) import HabitStore

extension OpenUser {
    /// Runs `body` over one moment of the store that answers at the user's stage.
    ///
    /// - Parameter isRecorded: whether to compare and record the read, where reads are.
    func read<R>(isRecorded: Bool = true, _ body: (any ReadTransaction) throws -> R) throws -> R {
        do {
            return try read(on: try currentRoute(), isRecorded, body)
        } catch is ReadRefused {
            return try readAnew(isRecorded, body)
        }
    }

    @inline(__always)
    private func read<R>(on route: Route, _ isRecorded: Bool, _ body: (any ReadTransaction) throws -> R) throws -> R {
        do {
            guard isRecorded, route.shadow != nil || options.queryRecorder != nil else {
                return try route.authority.read(while: route.condition, body)
            }
            return try route.authority.read(while: route.condition) { try recorded($0, route.shadow, body) }
        } catch let error as HabitStoreError
            where error.isDamage && route.writtenFirst != nil && error.location.path == route.authority.path
        {
            // This read has begun and is not repeated; the intact store answers the next one.
            leave(route, error)
            throw error
        } catch let error as HabitStoreError where isLeft(by: error) {
            forget(route)
            throw error
        }
    }

    /// Repeats a read that was refused by the store of its route.
    private func readAnew<R>(_ isRecorded: Bool, _ body: (any ReadTransaction) throws -> R) throws -> R {
        for _ in 0..<Self.maximumAttempts {
            let route = try currentRoute()
            do {
                return try read(on: route, isRecorded, body)
            } catch is ReadRefused {
                forget(route)
            }
        }
        throw unsteady()
    }

    /// The route in force. If another machine may have moved the user unnoticed, the answering store confirms it.
    func confirmedRoute() throws -> Route {
        let route = try currentRoute()
        guard route.condition.epoch != nil else { return route }
        try read(isRecorded: false) { _ = try $0.currentToken() }
        return try currentRoute()
    }

    private func recorded<R>(
        _ transaction: any ReadTransaction,
        _ shadow: ShadowReader?,
        _ body: (any ReadTransaction) throws -> R
    ) throws -> R {
        let recording = RecordingTransaction(transaction, shadow, options.queryRecorder)
        defer { recording.finish() }
        return try body(recording)
    }

    /// Runs `body` in a write transaction of the authoritative store, and replicates the write as the stage requires.
    func write<R>(_ author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        for _ in 0..<Self.maximumAttempts {
            var route = try currentRoute()
            if route.refusal != nil || route.actual.obstacle != nil { route = try recheck() }
            if let refusal = route.refusal { throw refusal }
            do {
                return try RoutedWrite(user: self, route: route, author: author).run(body)
            } catch is Rerouted {
                forget(route)
            }
        }
        throw unsteady()
    }
}
