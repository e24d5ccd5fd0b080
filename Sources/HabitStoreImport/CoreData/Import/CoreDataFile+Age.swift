import HabitStore

extension CoreDataFile {
    /// Refuses a file that is in an earlier state than the last import: it would bring back deleted records and undo changes.
    func requireNoOlder(than age: SourceAge?, _ options: CoreDataImporter.Options) throws {
        guard !options.allowsOlder, let age, let sign = try self.age.sign(ofBeingOlderThan: age, connection) else {
            return
        }
        throw HabitStoreError(
            .olderSource,
            "the file is older than what was imported last: \(sign); nothing was changed (--allow-older imports it "
                + "anyway)",
            at: .init(path: path)
        )
    }
}
