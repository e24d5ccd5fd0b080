import HabitStore
import HabitStoreImport

/// Everything that is in a source, sorted into what can be imported and what is kept beside the store.
struct TrackerSource {
    let format: TrackerFormat
    let path: String
    var habits: [TrackerHabit] = []
    var entries: [TrackerEntry] = []
    var rows: [TrackerRow] = []
    /// How many rows of each kind there are in the source: its tables, files or lists.
    var counts: [(name: String, count: Int)] = []
    /// What is odd, by name, with how often.
    private(set) var oddities: [String: Int] = [:]
    /// How many entries there were of a habit at a moment, for the keys of further ones.
    private var repeats: [String: Int] = [:]
    private var names: [String: Int] = [:]

    init(_ format: TrackerFormat, path: String) {
        self.format = format
        self.path = path
    }

    /// What proves that something of the source is missing or was not read, by kind.
    private(set) var losses: [TrackerReport.Loss] = []

    /// Notes what proves a loss.
    mutating func lose(_ kind: String, _ message: String, _ count: Int) {
        if count > 0 { losses.append(TrackerReport.Loss(kind: kind, message: message, count: count)) }
    }

    /// Notes what is odd about the files of a database, and what of it proves a loss.
    mutating func note(_ oddities: [CoreDataOddity]) {
        for oddity in oddities {
            if CoreDataImportReport.Shortfall.fileKinds.contains(oddity.kind) {
                lose(oddity.kind, oddity.message, oddity.count ?? 1)
            } else {
                note(oddity.message)
            }
        }
    }

    /// Notes files that end in the middle of a row.
    mutating func loseCutFiles(_ count: Int) {
        let words = count == 1 ? "a file ends" : "\(count) files end"
        lose("fileCut", "\(words) in the middle of a row: the rest of it is missing", count)
    }

    /// Notes something odd.
    mutating func note(_ oddity: String, _ count: Int = 1) {
        if count > 0 { oddities[oddity, default: 0] += count }
    }

    /// Keeps a row beside the store.
    mutating func keep(_ what: String, _ fields: [String: ImportJSON]) {
        rows.append(TrackerRow(what: what, fields: fields))
    }

    /// The key of an entry that has none of its own: its place among those of its habit with the same text, for a moment.
    mutating func key(_ habit: String, _ text: String) -> String {
        let name = habit + "\u{1F}" + text
        let count = repeats[name, default: 0]
        repeats[name] = count + 1
        return count == 0 ? text : "\(text)#\(count + 1)"
    }

    /// The key of a habit that has none but its name, of which there may be several.
    mutating func key(habitNamed name: String) -> String {
        let count = names[name, default: 0]
        names[name] = count + 1
        if count > 0 { note("habits with the name of another one") }
        return count == 0 ? name : "\(name)#\(count + 1)"
    }
}
