import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// The contents of a fixture, independent of any store. Texts have the file's Unicode form.
struct FixtureContents {
    var description: String
    var habits: [Habit] = []
    var entries: [Entry] = []
    var tags: [Tag] = []
    var drafts: [Draft] = []
    var history: [HistoryTransaction] = []
    /// The last pruned history token.
    var floor: Int64 = 0
    /// The last token.
    var token: Int64 = 0
    /// Whether a version that normalizes text created the file.
    var hasCanonicalText = true
    /// The number of records with each kind of anomaly.
    var anomalies: [String: Int] = [:]

    /// The contents that a store returns: text in NFC.
    var normalized: FixtureContents {
        var copy = self
        for index in copy.habits.indices {
            copy.habits[index].name = copy.habits[index].name.normalizedToNFC()
            copy.habits[index].category = copy.habits[index].category?.normalizedToNFC()
            copy.habits[index].unit = copy.habits[index].unit?.normalizedToNFC()
        }
        for index in copy.entries.indices { copy.entries[index].note = copy.entries[index].note?.normalizedToNFC() }
        for index in copy.tags.indices { copy.tags[index].name = copy.tags[index].name.normalizedToNFC() }
        for index in copy.drafts.indices {
            copy.drafts[index].content = copy.drafts[index].content.normalizedToNFC()
            copy.drafts[index].attachments = copy.drafts[index].attachments.map { $0.normalizedToNFC() }
        }
        return copy
    }

    /// Appends a history transaction with changes.
    mutating func record(at date: Date, author: String?, _ changes: [HistoryChange]) {
        token += 1
        history.append(
            HistoryTransaction(token: HistoryToken(rawValue: token), timestamp: date, author: author, changes: changes)
        )
    }
}
