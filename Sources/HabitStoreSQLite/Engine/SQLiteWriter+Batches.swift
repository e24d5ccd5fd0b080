@_spi(Engines) import HabitStore

/// Inserting many records at a time.
@_spi(Engines) extension SQLiteWriter {
    /// Stores the records of a batch under identifiers that are not in use. If it pays, it stores them in the order of the table
    /// and rebuilds the indexes afterwards; otherwise it keeps the given order, which is often that of an index.
    ///
    /// - Returns: the place of the first record whose identifier is taken; nil if all were stored.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        try fixWalks()
        let table = tables[entity]
        let rebuild = try SQLiteIndexRebuild(table, inserting: batch.count, connection)
        let isSorted = !rebuild.isEmpty || table.columnIndexes.isEmpty
        try rebuild.drop()
        if let taken = try insert(batch, isSorted ? batch.placesByIdentifier : Array(0..<batch.count), table) {
            return taken
        }
        try rebuild.make()
        guard !table.linkPositions.isEmpty else { return nil }
        for place in batch.placesByIdentifier {
            try insertLinks(table, batch.identifier(at: place), batch[place])
        }
        return nil
    }

    private func insert(_ batch: RecordBatch, _ places: [Int], _ table: SQLiteTable) throws -> Int? {
        try connection.withStatement(table.insert) { statement in
            var taken: Int?
            for place in places {
                try statement.bind(batch[place], table)
                try statement.run()
                if try connection.changes == 0 { taken = min(taken ?? Int.max, place) }
            }
            return taken
        }
    }
}
