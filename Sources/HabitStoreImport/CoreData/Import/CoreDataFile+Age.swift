import HabitStore

extension CoreDataFile {
    /// Refuses a file that is an earlier state of what was imported last: it would bring back what was deleted since, and
    /// undo what was changed.
    func requireNoOlder(than age: SourceAge?, _ options: CoreDataImporter.Options) throws {
        guard !options.allowsOlder, let age, let sign = try self.age.sign(ofBeingOlderThan: age, connection) else {
            return
        }
        throw HabitStoreError(
            .olderSource,
            "the file is older than what was imported last: \(sign); nothing was changed (--allow-older imports it all the "
                + "same)",
            at: .init(path: path)
        )
    }
}
