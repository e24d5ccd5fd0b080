import Foundation
import HabitStore

/// Tells which store holds a user's current data, without writing anything.
struct CurrentStore {
    private let pair: StorePair

    init(_ directory: UserDirectory, schema: Schema, engines: Engines) {
        pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
    }

    /// What the current store says of itself; nil for a user without stores.
    ///
    /// - Throws: what is wrong with it. A store on standby is never taken in its place.
    func find() throws -> Standing? {
        defer { pair.close() }
        var standings: [Standing] = []
        var failure: (any Error)?
        for engine in pair.known.names {
            do {
                if let standing = try pair.standing(engine) { standings.append(standing) }
            } catch {
                failure = failure ?? error
            }
        }
        standings.sort { ($0.epoch, $0.token) > ($1.epoch, $1.token) }
        if let found = standings.first(where: { $0.role == .authoritative }),
            failure == nil || found.epoch >= StageSwitch.firstEpoch
        {
            return found
        }
        if let failure { throw failure }
        if let sealed = standings.first(where: { $0.role == .sealed }) { return sealed }
        guard let standby = standings.first else { return nil }
        throw HabitStoreError(
            .notAuthoritative,
            "the user's current store is missing; the \(standby.engine.rawValue) store beside it is a copy at token "
                + "\(standby.token)",
            at: .init(path: pair.directory.path)
        )
    }
}
