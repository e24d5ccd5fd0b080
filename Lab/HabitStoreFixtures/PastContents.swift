import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store of an older schema version: its contents, and its expected contents after a migration.
struct PastContents {
    /// The schema's version, 1 or 2.
    let version: Int
    /// The expected records of version 3. Another program's `uuid5` computed the tags' identifiers.
    var migrated: FixtureContents
    /// The tag text of each habit.
    var tagTexts: [UUID: String] = [:]
    /// The names whose Unicode form in the file differs.
    var rawNames: [UUID: String] = [:]

    /// The contents as a version that normalized text would have written them.
    var canonical: PastContents {
        var copy = self
        copy.tagTexts = tagTexts.mapValues { $0.normalizedToNFC() }
        copy.rawNames = [:]
        return copy
    }

    func name(_ habit: Habit) -> String { rawNames[habit.id] ?? habit.name }

    func tagText(_ habit: Habit) -> String { tagTexts[habit.id] ?? "" }
}
