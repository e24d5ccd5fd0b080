import HabitStore
import HabitStoreImport

/// Totals of a habit's entries: enough to detect missing, duplicated, moved or changed ones.
struct HabitTally: CustomStringConvertible {
    let name: String
    private(set) var entries = 0
    private(set) var sum = 0.0
    private(set) var first: String?
    private(set) var last: String?
    /// The size of all notes in bytes of UTF-8, in NFC.
    private(set) var noteBytes = 0

    private static let tolerance = 1e-9

    init(name: String) { self.name = name.precomposedStringWithCanonicalMapping }

    mutating func add(day: String, value: Double?, note: String?, count: Int = 1) {
        entries += count
        sum += value ?? 0
        noteBytes += note?.precomposedStringWithCanonicalMapping.utf8.count ?? 0
        if first.map({ day < $0 }) ?? true { first = day }
        if last.map({ day > $0 }) ?? true { last = day }
    }

    /// Omits the name, which is the user's data.
    var description: String {
        "\(entries) entries, the sum \(sum), from \(first ?? "never") to \(last ?? "never"), \(noteBytes) bytes of notes"
    }

    /// The sort order, which distinguishes habits with the same name by their totals.
    var order: [String] { [name, pad(entries), first ?? "", last ?? "", pad(noteBytes), "\(sum)"] }

    func isEqual(to other: HabitTally) -> Bool {
        let scale = max(1, abs(sum), abs(other.sum))
        return name == other.name && entries == other.entries && first == other.first && last == other.last
            && noteBytes == other.noteBytes && abs(sum - other.sum) <= Self.tolerance * scale
    }

    private func pad(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 20 - text.count)) + text
    }
}
