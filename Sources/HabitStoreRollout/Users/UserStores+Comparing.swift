@_spi(Engines) import HabitStore
import ShadowVerifier

extension UserStores {
    /// Compares a user's two stores by their kept digests, from two read snapshots. Reads records only where digests differ, and writes nothing.
    ///
    /// - Returns: nil if no store follows the serving one.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; why a store cannot be read, or none is known to be current.
    package func quickComparison(of user: String) throws -> VerificationReport? {
        let pair = StorePair(directory: try known(user), schema: schema, access: .readOnly, engines: engines)
        defer { pair.close() }
        let serving = try current(pair)
        guard let state = serving.state, state.stage.mirror != nil else { return nil }
        let other = state.engines.other(than: serving.engine)
        var options = VerificationOptions()
        options.depth = .keptDigests
        return try ShadowVerifier(
            .init(name: "\(serving.engine.rawValue) (current)", store: try pair.store(serving.engine)),
            .init(name: "\(other.rawValue) (other)", store: try pair.store(other)),
            options: options
        ).run()
    }
}
