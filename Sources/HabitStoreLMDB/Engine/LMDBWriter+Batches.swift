@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Many new records at a time: each database is written in the order of its keys.
@_spi(Engines) extension LMDBWriter {
    /// Stores the records of a batch, under identifiers that have none yet.
    ///
    /// - Returns: nil; or the place of the first record whose identifier is taken.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        let table = catalog.tables[entity]
        let taken = try LMDBAscendingPuts.run(transaction, catalog.records(table)) { puts in
            var taken: Int?
            for place in batch.placesByIdentifier
            where try !puts.put(batch.identifierBytes(at: place), batch[place].bytes, mode: .noOverwrite) {
                taken = min(taken ?? Int.max, place)
            }
            return taken
        }
        if let taken { return taken }
        for index in table.indexes { try addKeys(index, batch) }
        return nil
    }

    private func addKeys(_ index: KeyIndex, _ batch: RecordBatch) throws {
        let keys = try indexKeys.keys(index, batch)
        let mayRepeat = index.layout.linksPosition != nil
        // In an index over links a record has as many keys as links, and copies are in the others only.
        let copies = holdsCopies(index) && !mayRepeat
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        try LMDBAscendingPuts.run(transaction, catalog.database(index)) { puts in
            var last: UnsafeRawBufferPointer?
            for place in keys.sortedPlaces() {
                let key = keys[place]
                if mayRepeat {
                    // A record that has a link twice has one key for it.
                    if let last, last.elementsEqual(key) { continue }
                    last = key
                }
                try puts.put(key, copies ? KeyFormat.copy(of: batch[place]) : nothing, mode: .upsert)
            }
        }
    }
}
