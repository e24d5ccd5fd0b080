import Foundation
@_spi(Engines) import HabitStore

extension Engines {
    /// Opens a store of whatever schema version, with the schema that it was written with. One of a newer version is only
    /// read: what else its app holds true is not known here.
    ///
    /// - Parameter plan: has the schemas of versions whose stores have not written theirs down; nil where there are none.
    /// - Throws: a typed error for everything that can be wrong with the file.
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
