import HabitStore

extension SourceAge {
    /// Describes a table with changes since another state that the file's history does not record; nil if the history explains all counts
    /// of records, keys and saves.
    ///
    /// - Parameter file: the file in this state.
    func untold(since then: SourceAge, _ file: CoreDataFile) throws -> String? {
        for (name, before) in then.tables.sorted(by: { $0.key < $1.key }) {
            guard let now = tables[name] else { continue }
            guard let last = then.transaction, let newest = transaction, last < newest else {
                guard (now.rows, now.highestKey, now.saves) != (before.rows, before.highestKey, before.saves) else {
                    continue
                }
                return
                    "\(name) has \(now.rows) records, of keys up to \(now.highestKey), saved \(now.saves) times, and had "
                    + "\(before.rows), \(before.highestKey) and \(before.saves)"
            }
            let told = try toldChanges(of: name, since: last, file)
            let (here, there) = (Int(now.rows) - told.here, Int(before.rows) - told.before)
            guard here != there else { continue }
            return "\(name) has \(here) records that no new transaction mentions, and had \(there)"
        }
        return nil
    }

    /// Of the records that transactions after `last` mention, the number that exist now and the number that existed before.
    private func toldChanges(
        of table: String,
        since last: Int64,
        _ file: CoreDataFile
    ) throws -> (here: Int, before: Int) {
        let numbers = file.model.entities.filter { $0.table == table }.map { String($0.number) }.joined(separator: ", ")
        // With `min`, SQLite takes the other columns from the row with the minimum.
        let first =
            "SELECT ZENTITYPK AS key, ZCHANGETYPE AS kind, min(Z_PK) FROM ACHANGE "
            + "WHERE ZTRANSACTIONID > \(last) AND ZENTITY IN (\(numbers)) AND ZENTITYPK NOT NULL GROUP BY ZENTITYPK"
        let rows = try file.connection.prepare(
            "SELECT total(key IN (SELECT Z_PK FROM \(SourceConnection.quoted(table)))), total(kind <> 0) FROM (\(first))"
        )
        guard try rows.step() else { return (0, 0) }
        return (Int(rows.optionalInt(0) ?? 0), Int(rows.optionalInt(1) ?? 0))
    }
}

extension CoreDataImportReport {
    /// The counts of values, which start over if every record is compared after the history was followed.
    struct Tally {
        let losses: [Loss]
        let odd: [Loss]
        let normalizedTexts: Int
    }

    var tally: Tally { Tally(losses: losses, odd: odd, normalizedTexts: normalizedTexts) }

    /// Reports that the history is incomplete, and discards the counts made while following it.
    mutating func compareInstead(_ untold: String, from tally: Tally) {
        (losses, odd, normalizedTexts) = (tally.losses, tally.odd, tally.normalizedTexts)
        let message =
            "the file's history does not record every change, so every record was compared: \(untold)"
        oddities.append(CoreDataOddity("historyIncomplete", message))
    }
}
