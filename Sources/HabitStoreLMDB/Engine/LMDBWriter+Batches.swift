@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Inserting many records at a time. Each database is written in key order.
@_spi(Engines) extension LMDBWriter {
    /// Stores the records of a batch under identifiers that are not in use.
    ///
    /// - Returns: the place of the first record whose identifier is taken; nil if all were stored.
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
        // An index over links has as many keys for a record as it has links, and never contains copies.
        let copies = holdsCopies(index) && !mayRepeat
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        try LMDBAscendingPuts.run(transaction, catalog.database(index)) { puts in
            var last: UnsafeRawBufferPointer?
            for place in keys.sortedPlaces() {
                let key = keys[place]
                if mayRepeat {
                    // A record with a repeated link has one key for it.
                    if let last, last.elementsEqual(key) { continue }
                    last = key
                }
                try puts.put(key, copies ? KeyFormat.copy(of: batch[place]) : nothing, mode: .upsert)
            }
        }
    }
}
