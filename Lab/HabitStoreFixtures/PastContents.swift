import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A store of an older schema version: what it holds, and beside it what it has to hold behind a migration.
struct PastContents {
    /// The schema's version, 1 or 2.
    let version: Int
    /// What has to come of it: the records of version 3. The tags' identifiers are those that another program's `uuid5` gave.
    var migrated: FixtureContents
    /// The text that stands for each habit's tags.
    var tagTexts: [UUID: String] = [:]
    /// The names that the file has in another Unicode form.
    var rawNames: [UUID: String] = [:]

    /// As a version that normalized text would have written it.
    var canonical: PastContents {
        var copy = self
        copy.tagTexts = tagTexts.mapValues { $0.normalizedToNFC() }
        copy.rawNames = [:]
        return copy
    }

    func name(_ habit: Habit) -> String { rawNames[habit.id] ?? habit.name }

    func tagText(_ habit: Habit) -> String { tagTexts[habit.id] ?? "" }
}
