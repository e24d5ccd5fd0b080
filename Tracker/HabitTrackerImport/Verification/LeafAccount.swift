import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

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
    /// The lists that a mapping makes habits or entries of, each of which has its own balance.
    private var mapped: Set<String> = []
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
        var lines: [JSON] = []
        try WitnessLines.read(attachment) { line in
            if let object = try? JSON(parsing: Array(line)), object.members?["kind"] != nil {
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
    static func leaves(_ name: String, _ json: JSON) -> [Leaf] {
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
            if !saysNothing { balance.add(aside: 1, of: habit, in: mapped.contains(list) ? list : nil) }
            return
        }
        guard let (rest, owner) = record ?? claim.flatMap({ account(for: $0) }) else {
            missingRows[list, default: 0] += 1
            return
        }
        balance.add(records: 1, of: habit, in: mapped.contains(list) ? list : nil)
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

extension LeafAccount {
    /// Accounts for lists read with a mapping: checks that the lists contain each value of the file, and what became of the lists.
    mutating func takeTables(_ tables: SourceTables, _ mapping: CoreDataMapping, _ path: String) throws {
        var listed: [String: Int] = [:]
        for table in tables.tables {
            for row in table.rows {
                for leaf in Self.leaves("", .object(row.fields)) { listed[leaf.words, default: 0] += 1 }
            }
        }
        let others = Self.leaves("", .object(tables.others))
        for leaf in others { listed[leaf.words, default: 0] += 1 }
        try Self.forEachLeaf(of: path) { list, leaf in
            if let left = listed[leaf.words], left > 0 {
                listed[leaf.words] = left - 1
            } else {
                note(1, of: leaf.name, in: list)
            }
        }
        take("the file", others, saysNothing: true)
        mapped = Set(mapping.entities.filter { $0.target != nil }.map(\.source))
        var known = KnownHabits()
        for entity in mapping.entities where entity.target == "Habit" { takeHabits(entity, tables, &known) }
        for entity in mapping.entities where entity.target == "Entry" { takeEntries(entity, tables, known) }
        for table in tables.tables where !mapped.contains(table.name) {
            for row in table.rows { take(table.name, Self.leaves("", .object(row.fields)), saysNothing: true) }
        }
    }

    /// Calls `body` with every value of a file, without using the reader of its lists.
    private static func forEachLeaf(of path: String, _ body: (_ list: String, Leaf) -> Void) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
        if isFolder.boolValue {
            for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            where name.lowercased().hasSuffix(".csv") {
                forEachCell(of: try WholeFile.read(path + "/" + name).bytes, name, body)
            }
            return
        }
        if DatabaseHeader.isDatabase(path) {
            let database = try SourceDatabase(path: path)
            for table in database.tableNames where !table.hasPrefix("sqlite_") {
                try database.forEachRow(table) { row in
                    for (column, value) in row {
                        for leaf in leaves(column, JSON(value)) { body(table, leaf) }
                    }
                }
            }
        } else if let json = try json(path) {
            for leaf in leaves("items", json) { body("the file", leaf) }
        } else {
            forEachCell(of: try WholeFile.read(path).bytes, "the file", body)
        }
    }

    /// The contents of a JSON file; nil for other files.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` if it is damaged or has duplicate members.
    static func json(_ path: String) throws -> JSON? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
            !DatabaseHeader.isDatabase(path)
        else { return nil }
        let bytes = try WholeFile.read(path).bytes
        guard let first = bytes.first(where: { $0 > 0x20 && $0 < 0x80 }), first == 0x5B || first == 0x7B else {
            return nil
        }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        do {
            return try JSON(parsing: bytes.starts(with: mark) ? Array(bytes.dropFirst(3)) : bytes)
        } catch {
            throw HabitStoreError(.invalidSource, "the file is damaged JSON: \(error)", at: .init(path: path))
        }
    }

    private static func forEachCell(of bytes: [UInt8], _ list: String, _ body: (_ list: String, Leaf) -> Void) {
        let rows = TextTally.rows(String(decoding: bytes, as: UTF8.self))
        for row in rows.dropFirst() { for leaf in leaves(rows[0], row) { body(list, leaf) } }
    }

    /// The names of the habits in the lists, by the keys in each list and by row.
    private struct KnownHabits {
        var byKey: [String: [String: String]] = [:]
        var byRow: [String: [Int: String]] = [:]

        /// The habit of a row; nil if the mapping does not say.
        func name(_ link: String?, _ row: SourceTables.Row) -> String? {
            if let link {
                guard let list = byKey.first else { return link }
                return byKey.count == 1 ? list.value[link] : nil
            }
            for ancestor in row.ancestors.reversed() {
                if let rows = byRow[ancestor.list] { return rows[ancestor.row] }
            }
            return nil
        }
    }

    private static func column(_ attribute: String, _ entity: CoreDataMapping.Entity) -> String? {
        entity.attributes.first { $0.value == .some(attribute) }?.key
    }

    private static func key(_ entity: CoreDataMapping.Entity, _ fields: [String: JSON], _ place: Int) -> String {
        entity.key.flatMap { TableTally.text(fields[$0]) } ?? "\(entity.source) \(place)"
    }

    private func isMeant(_ row: SourceTables.Row, _ entity: CoreDataMapping.Entity) -> Bool {
        entity.only.allSatisfy { TableTally.matches(row.fields[$0.key], $0.value) }
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    private mutating func takeHabits(
        _ entity: CoreDataMapping.Entity,
        _ tables: SourceTables,
        _ known: inout KnownHabits
    ) {
        if known.byKey[entity.source] == nil { (known.byKey[entity.source], known.byRow[entity.source]) = ([:], [:]) }
        for (place, row) in (tables.tables.first { $0.name == entity.source }?.rows ?? []).enumerated() {
            let leaves = Self.leaves("", .object(row.fields))
            let name = Self.column("name", entity).flatMap { TableTally.text(row.fields[$0]) } ?? ""
            guard isMeant(row, entity), !name.isEmpty else {
                take(entity.source, leaves, saysNothing: !isMeant(row, entity))
                continue
            }
            let key = Self.key(entity, row.fields, place)
            if known.byKey[entity.source]?[key] == nil {
                known.byKey[entity.source]?[key] = name
                known.byRow[entity.source]?[place] = name
            }
            take(
                entity.source,
                leaves,
                .habit(name) { [calendar] habit in
                    leaves.filter { leaf in
                        guard let attribute = entity.attributes[leaf.name] ?? nil, let value = row.fields[leaf.name]
                        else {
                            return true
                        }
                        return !Self.carries(attribute, value, habit, entity.dates, calendar)
                    }
                }
            )
        }
    }

    private static func carries(
        _ attribute: String,
        _ value: JSON,
        _ habit: Habit,
        _ dates: String?,
        _ calendar: Calendar
    ) -> Bool {
        // A value that was not understood is not in the store, even if the habit lacks the attribute too.
        if ["target", "timesPerPeriod", "periodDays"].contains(attribute), TableTally.number(value) == nil {
            return false
        }
        if ["category", "unit"].contains(attribute), TableTally.text(value) == nil { return false }
        switch attribute {
        case "name": return TableTally.text(value) == habit.name
        case "id": return TableTally.text(value).flatMap { UUID(uuidString: $0) } == habit.id
        case "category": return TableTally.text(value) == habit.category
        case "unit": return TableTally.text(value) == habit.unit
        case "target": return TableTally.number(value) == habit.target
        case "timesPerPeriod": return TableTally.number(value) == Double(habit.timesPerPeriod)
        case "periodDays": return TableTally.number(value) == Double(habit.periodDays)
        case "isArchived":
            let no = ["0", "no", "n", "false", "-"].contains((TableTally.text(value) ?? "").lowercased())
            return no != habit.isArchived
        case "createdAt":
            let parts = calendar.dateComponents([.year, .month, .day], from: habit.createdAt)
            let day = PlainDay.text(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            return day != nil && isCarried(value) && TableTally.day(value, dates, calendar) == day
        default: return false
        }
    }

    /// Whether the store can hold a time exactly: without an offset it has whole seconds.
    private static func isCarried(_ value: JSON?) -> Bool {
        guard let text = value?.text, text.contains(":"), let point = text.firstIndex(of: ".") else { return true }
        let digits = text[point...].dropFirst().prefix { $0.isNumber }
        let hasOffset = !text[point...].dropFirst().allSatisfy(\.isNumber)
        return hasOffset ? digits.count <= 6 : digits.allSatisfy { $0 == "0" }
    }

    private mutating func takeEntries(
        _ entity: CoreDataMapping.Entity,
        _ tables: SourceTables,
        _ known: KnownHabits
    ) {
        guard let table = tables.tables.first(where: { $0.name == entity.source }) else { return }
        let link = entity.relationships.first { $0.value == .some("habit") }?.key
        guard let date = Self.column("date", entity) else { return }
        let (number, note) = (Self.column("value", entity), Self.column("note", entity))
        for row in table.rows {
            let leaves = Self.leaves("", .object(row.fields))
            guard isMeant(row, entity), let day = TableTally.day(row.fields[date], entity.dates, calendar) else {
                let habit = known.name(link.flatMap { TableTally.text(row.fields[$0]) }, row)
                take(entity.source, leaves, saysNothing: !isMeant(row, entity), of: habit)
                continue
            }
            if let columns = entity.columns {
                let wide = columns.contains("*") ? table.columns : columns
                takeWide(
                    row,
                    wide.filter { entity.attributes[$0] == nil && entity.relationships[$0] == nil },
                    day,
                    date,
                    entity.source
                )
                continue
            }
            guard let habit = known.name(link.flatMap { TableTally.text(row.fields[$0]) }, row) else {
                take(entity.source, leaves)
                continue
            }
            let value = number.flatMap { TableTally.number(row.fields[$0]) }
            let words = note.flatMap { TableTally.text(row.fields[$0]) }
            let carried = Set(
                [
                    Self.isCarried(row.fields[date]) ? date : nil, link, value == nil ? nil : number,
                    words == nil ? nil : note,
                ]
                .compactMap { $0 }
            )
            take(
                entity.source,
                leaves,
                .entry(Mark(habit, day, value, words)) { _ in leaves.filter { !carried.contains($0.name) } },
                of: habit
            )
        }
    }

    /// Accounts for a row with a column per habit: each mark is an entry, and the rest is kept as a row.
    private mutating func takeWide(
        _ row: SourceTables.Row,
        _ columns: [String],
        _ day: String,
        _ date: String,
        _ list: String
    ) {
        var rest = row.fields
        for column in columns {
            guard let mark = TableTally.mark(row.fields[column]) else { continue }
            rest[column] = nil
            let entry = Mark(column, day, mark.value, mark.note)
            take(list, Self.leaves("a habit's column", row.fields[column] ?? .null), .entry(entry) { _ in [] })
        }
        if rest.count < row.fields.count { rest[date] = nil }
        take(list, Self.leaves("", .object(rest)), saysNothing: true)
    }
}
