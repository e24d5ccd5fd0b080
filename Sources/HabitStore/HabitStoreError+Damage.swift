import Foundation

extension HabitStoreError {
    /// The error for damage that an engine sees in its file: ``Code/corrupt``, and ``isDamage`` is true. A rollout takes the
    /// user to the store that is sound; only engines throw it.
    @_spi(Engines) public static func damage(
        _ message: String,
        at location: Location = Location(),
        detail: String? = nil,
        underlying: (any Error)? = nil
    ) -> HabitStoreError {
        HabitStoreError(.corrupt, message, at: location, detail: detail, underlying: underlying, isDamage: true)
    }

    /// The same error, at another place.
    func moved(to location: Location) -> HabitStoreError {
        HabitStoreError(code, message, at: location, detail: detail, underlying: underlying, isDamage: isDamage)
    }

    /// The same error, with the store's path if it is damage seen in that store.
    ///
    /// Code deep below knows no path, or another name of the same file. Damage of another store, which a closure may also have read, keeps its path.
    func located(inStore path: String?) -> HabitStoreError {
        guard isDamage, let path, location.path != path else { return self }
        if let own = location.path, Self.resolved(own) != Self.resolved(path) { return self }
        var place = location
        place.path = path
        return moved(to: place)
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }
}
