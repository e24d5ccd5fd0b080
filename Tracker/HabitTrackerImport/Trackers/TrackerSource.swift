import HabitStore
import HabitStoreImport

/// The contents of a source, divided into what can be imported and what is kept next to the store.
struct TrackerSource {
    let format: TrackerFormat
    let path: String
    var habits: [TrackerHabit] = []
    var entries: [TrackerEntry] = []
    var rows: [TrackerRow] = []
    /// The number of rows of each kind in the source: its tables, files or lists.
    var counts: [(name: String, count: Int)] = []
    /// The oddities and their numbers of occurrences.
    private(set) var oddities: [String: Int] = [:]
    /// The number of entries per habit and moment so far, to derive the keys of further ones.
    private var repeats: [String: Int] = [:]
    private var names: [String: Int] = [:]

    init(_ format: TrackerFormat, path: String) {
        self.format = format
        self.path = path
    }

    /// Evidence that a part of the source is missing or was not read, by kind.
    private(set) var losses: [TrackerReport.Loss] = []

    /// Records evidence of a loss.
    mutating func lose(_ kind: String, _ message: String, _ count: Int) {
        if count > 0 { losses.append(TrackerReport.Loss(kind: kind, message: message, count: count)) }
    }

    /// Records the oddities of a database's files, including those that prove a loss.
    mutating func note(_ oddities: [CoreDataOddity]) {
        for oddity in oddities {
            if CoreDataImportReport.Shortfall.fileKinds.contains(oddity.kind) {
                lose(oddity.kind, oddity.message, oddity.count ?? 1)
            } else {
                note(oddity.message)
            }
        }
    }

    /// Records files that end in the middle of a row.
    mutating func loseCutFiles(_ count: Int) {
        let words = count == 1 ? "a file ends" : "\(count) files end"
        lose("fileCut", "\(words) in the middle of a row: the rest of it is missing", count)
    }

    mutating func note(_ oddity: String, _ count: Int = 1) {
        if count > 0 { oddities[oddity, default: 0] += count }
    }

    /// Adds a row to keep next to the store.
    mutating func keep(_ what: String, _ fields: [String: ImportJSON]) {
        rows.append(TrackerRow(what: what, fields: fields))
    }

    /// The key of an entry that has none: the text for its moment, numbered among the habit's entries with the same text.
    mutating func key(_ habit: String, _ text: String) -> String {
        let name = habit + "\u{1F}" + text
        let count = repeats[name, default: 0]
        repeats[name] = count + 1
        return count == 0 ? text : "\(text)#\(count + 1)"
    }

    /// The key of a habit that only has a name, which may not be unique.
    mutating func key(habitNamed name: String) -> String {
        let count = names[name, default: 0]
        names[name] = count + 1
        if count > 0 { note("habits with the name of another one") }
        return count == 0 ? name : "\(name)#\(count + 1)"
    }
}
