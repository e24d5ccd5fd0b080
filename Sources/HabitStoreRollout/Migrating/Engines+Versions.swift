import Foundation
@_spi(Engines) import HabitStore

extension Engines {
    /// Opens a store of any schema version, with the schema that it was written with. A store of a newer version can only be read: its app may
    /// maintain rules that are unknown here.
    ///
    /// - Parameter plan: has the schemas of versions whose stores do not contain theirs; nil if there are none.
    /// - Throws: a typed error for anything that is wrong with the file.
    public func openAsWritten(
        _ address: StoreAddress,
        _ access: StoreAccess,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?
    ) throws -> any UserStoreBackend {
        do {
            return try open(address, access, schema: schema)
        } catch let error as HabitStoreError
            where [.migrationRequired, .schemaMismatch].contains(error.code)
            || (error.code == .newerVersion && access == .readOnly)
        {
            let outline = try outline(address)
            if let stored = outline.schema {
                return try open(address, access, schema: Schema(shapes: stored.entities, version: stored.version))
            }
            guard let version = plan?.schemas.first(where: { $0.versionIdentifier == outline.version }) else {
                throw error
            }
            return try open(address, access, schema: version.schema)
        }
    }
}
