import HabitStore

/// What belongs where in the files of a schema whose databases were opened in the same order: nothing in it is of one file.
struct LMDBTables: Sendable {
    let tables: [LMDBCatalog.Table]
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    let digests: LMDBDatabase?
    let indexList: [UInt8]
    let indexNames: Set<String>

    /// - Parameters:
    ///   - databases: the databases by their names; those of a store that lacks some are missing.
    ///   - layouts: what ``LMDBCatalog/layouts(_:)`` gives.
    init(
        _ schema: Schema,
        metadata: LMDBDatabase,
        databases: [String: LMDBDatabase],
        layouts: [[LMDBIndexKeyLayout]]
    ) {
        self.metadata = metadata
        history = databases[LMDBFormat.history]
        digests = databases[LMDBFormat.digests]
        tables = schema.entities.enumerated().map { position, entity in
            LMDBCatalog.Table(
                name: entity.name,
                layout: entity.layout,
                records: databases[entity.name],
                indexes: entity.indexes.enumerated().map { place, index in
                    let name = LMDBFormat.indexName(entity.name, index)
                    return LMDBCatalog.Index(
                        place: place,
                        layout: layouts[position][place],
                        title: "\(entity.name)(\(index.attributes.joined(separator: ", ")))",
                        name: name,
                        isClustering: index.isClustering,
                        database: databases[name]
                    )
                }
            )
        }
        let indexes = tables.flatMap(\.indexes)
        indexNames = Set(indexes.map(\.name))
        indexList = Array(
            indexes.map { LMDBFormat.listedName($0.name, isClustering: $0.isClustering) }.joined(separator: "\n").utf8
        )
    }
}
