import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker

/// Accounts for every cell of a CSV file, every line of a text and every leaf of a JSON file: each must be in a record of the store, or in
/// the attachment by name and value. Anything else is a difference.
///
/// Reads back the records and the attachment, and reads the source without the import's readers; see ``LeafAccount/take(_:path:)``.
struct LeafAccount {
    /// A value of the source, with the name of its column or member.
    struct Leaf: Hashable {
        let name: String
        let words: String

        init(_ name: String, _ words: String) { (self.name, self.words) = (name, words) }
    }

    /// An entry, with the properties that a source can express.
    struct Mark: Hashable {
        let habit: String
        let day: String
        let value: Double?
        let note: String?

        init(_ habit: String, _ day: String, _ value: Double?, _ note: String?) {
            (self.habit, self.day, self.value) = (habit, day, value)
            self.note = note.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The record that a part of the source should have become; `rest` gives the leaves that the record does not contain, which must be in
    /// the attachment.
    enum Claim {
        case habit(String, rest: (Habit) -> [Leaf])
        case entry(Mark, rest: (Habit?) -> [Leaf])
    }

    let timeZone: TimeZone
    /// The names of tags, by identifier.
    private(set) var tags: [UUID: String] = [:]
    private var habits: [String: [Habit]] = [:]
    private var claimed: [String: Habit] = [:]
    private var entries: [Mark: Int] = [:]

    /// The attachment lines of whole rows, by their contents.
    private var rows: [String: [Int]] = [:]
    private var isTaken: [Bool] = []
    /// The values kept for each habit name, which every row of the habit may repeat.
    private var ofHabits: [String: Set<Leaf>] = [:]
    private var ofEntries: [Leaf: Int] = [:]

    /// The originals of texts that NFC changes.
    private var written = WrittenTexts()
    /// The numbers of rows that did and did not become records.
    var balance = RecordBalance()
    private var missingRows: [String: Int] = [:]
    private var missingValues: [[String]: Int] = [:]

    /// The fields that an import adds to a row in the attachment.
    private static let added: [Set<String>] = [
        [], ["line"], ["file"], ["habit"], ["day"], ["line", "file"], ["line", "file", "habit"],
    ]

    /// Reads back the result of an import.
    ///
    /// - Parameter attachment: the path of the attachment; nil if there is none.
    init(
        _ plan: TrackerPlan,
        in store: any HabitStore,
        attachment: String?,
        _ timeZone: TimeZone
    ) throws {
        self.timeZone = timeZone
        var names: [UUID: String] = [:]
        var found: ([Habit], [Entry], [Tag]) = ([], [], [])
        try store.read { transaction in
            found.0 = try plan.habits.compactMap { try transaction.model(Habit.self, id: $0.id) }
            found.1 = try plan.entries.compactMap { try transaction.model(Entry.self, id: $0.id) }
            found.2 = try transaction.fetch(FetchDescriptor<Tag>())
        }
        for tag in found.2 { tags[tag.id] = tag.name }
        for habit in found.0 {
            habits[habit.name, default: []].append(habit)
            names[habit.id] = habit.name
        }
        for entry in found.1 {
            guard let habit = entry.habitID.flatMap({ names[$0] }),
                let day = LocalDay(containing: entry.date, in: timeZone)
            else { continue }
            entries[Mark(habit, day.description, entry.value, entry.note), default: 0] += 1
        }
        if let attachment { try read(attachment) }
    }

    private mutating func read(_ attachment: String) throws {
        var lines: [ImportJSON] = []
        try WitnessLines.read(attachment) { line in
            if let object = try? JSONValueParser.parse(Array(line)), object.members?["kind"] != nil {
                lines.append(object)
            }
        }
        for line in lines {
            guard let members = line.members, let fields = members["fields"] else { continue }
            written.add(fields)
            let leaves = Self.leaves("", fields)
            switch members["kind"]?.text {
            case "row":
                for names in Self.added where names.isEmpty || leaves.contains(where: { names.contains($0.name) }) {
                    rows[Self.key(leaves.filter { !names.contains($0.name) }), default: []].append(isTaken.count)
                }
                isTaken.append(false)
            case "habit": ofHabits[members["what"]?.text ?? "", default: []].formUnion(leaves)
            default: for leaf in leaves { ofEntries[leaf, default: 0] += 1 }
            }
        }
    }

    // MARK: Leaves

    /// The values within a value, with the names of their members; empty values are ignored.
    static func leaves(_ name: String, _ json: ImportJSON) -> [Leaf] {
        switch json {
        case .null, .string(""): []
        case .string(let text): [Leaf(name, "t:\(text)")]
        case .int(let number): [Leaf(name, "n:\(number)")]
        case .double(let number): [Leaf(name, Int64(exactly: number).map { "n:\($0)" } ?? "n:\(number)")]
        case .bool(let flag): [Leaf(name, "b:\(flag)")]
        case .array(let elements): elements.flatMap { leaves(name, $0) }
        case .object(let members): members.flatMap { leaves($0.key, $0.value) }
        }
    }

    /// The cells of a row, with the names of their columns.
    static func leaves(_ header: [String], _ row: [String]) -> [Leaf] {
        row.enumerated().filter { !$0.element.isEmpty }.map { place, text in
            Leaf(place < header.count ? header[place] : "column \(place + 1)", "t:\(text)")
        }
    }

    private static func key(_ leaves: [Leaf]) -> String {
        leaves.map { "\($0.name)\u{1F}\($0.words)" }.sorted().joined(separator: "\u{1E}")
    }

    // MARK: Accounting

    /// Accounts for an independent part of the source: a row, a line, or an object of a list.
    ///
    /// - Parameters:
    ///   - saysNothing: whether the app recorded that nothing was done, or computed the row.
    ///   - habit: the habit that the part may be an entry of.
    ///   - isShared: whether several habits share the row: an entry of one may be kept as an idle day of another.
    mutating func take(
        _ list: String,
        _ leaves: [Leaf],
        _ claim: Claim? = nil,
        saysNothing: Bool = false,
        of habit: String? = nil,
        isShared: Bool = false
    ) {
        guard !leaves.isEmpty else { return }
        let record = isShared ? claim.flatMap { account(for: $0) } : nil
        if record == nil, takeRow(leaves) {
            if !saysNothing { balance.add(aside: 1, of: habit) }
            return
        }
        guard let (rest, owner) = record ?? claim.flatMap({ account(for: $0) }) else {
            missingRows[list, default: 0] += 1
            return
        }
        balance.add(records: 1, of: habit)
        for leaf in leaves where !written.keeps(leaf.words) { missingValues[[list, leaf.name], default: 0] += 1 }
        guard !rest.isEmpty, !takeRow(rest) else { return }
        for leaf in rest {
            if let owner, ofHabits[owner]?.contains(leaf) == true { continue }
            if let left = ofEntries[leaf], left > 0 {
                ofEntries[leaf] = left - 1
            } else {
                missingValues[[list, leaf.name], default: 0] += 1
            }
        }
    }

    /// Records values of a file that none of its lists has.
    mutating func note(_ count: Int, of name: String, in list: String) {
        if count > 0 { missingValues[[list, name], default: 0] += count }
    }

    private mutating func takeRow(_ leaves: [Leaf]) -> Bool {
        guard let line = rows[Self.key(leaves)]?.first(where: { !isTaken[$0] }) else { return false }
        isTaken[line] = true
        return true
    }

    /// The rest and the habit of a part whose record is in the store; nil if the store has no such record.
    private mutating func account(for claim: Claim) -> (rest: [Leaf], owner: String?)? {
        switch claim {
        case .habit(let name, let rest):
            // Among habits with the same name, choose the one with the smallest rest.
            guard let found = habits[name], !found.isEmpty else { return nil }
            let rests = found.map(rest)
            guard let best = rests.indices.min(by: { rests[$0].count < rests[$1].count }) else { return nil }
            claimed[name] = habits[name]?.remove(at: best)
            return (rests[best], name)
        case .entry(let mark, let rest):
            guard let left = entries[mark], left > 0 else { return nil }
            entries[mark] = left - 1
            return (rest(claimed[mark.habit] ?? habits[mark.habit]?.first), mark.habit)
        }
    }

    /// The unaccounted parts, in words without user data.
    var differences: [String] {
        missingRows.sorted { $0.key < $1.key }.map {
            "\($0.value) rows of \($0.key) are neither in the store nor in the attachment"
        }
            + missingValues.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
                "\($0.value) values of \($0.key.joined(separator: ".")) are neither in the store nor in the attachment"
            }
    }
}
