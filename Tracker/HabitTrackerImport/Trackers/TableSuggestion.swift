import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// Suggests a mapping of lists without a dedicated reader. It states what is declared in the file, and what known names say whose values all
/// have the form; everything else is a question. It lists all columns with what is known about them.
struct TableSuggestion {
    private typealias Entity = CoreDataMapping.Entity

    private let lists: [SuggestedList]
    /// The lists that may have habits or entries.
    private let open: [SuggestedList]

    init(_ tables: SourceTables) {
        lists = tables.tables.map(SuggestedList.init)
        open = lists.filter { !$0.table.rows.isEmpty && $0.table.virtual == nil }
    }

    func mapping() -> CoreDataMapping {
        let (habits, rivals) = chooseHabits()
        let logs = chooseLogs(habits, rivals)
        let key = logs.lazy.compactMap { log -> String? in
            if case .column(_, let key) = log.owner, log.question == nil { key } else { nil }
        }.first
        return CoreDataMapping(
            entities: lists.map { list in
                var entity = Entity(source: list.name, target: nil)
                if let virtual = list.table.virtual {
                    entity.about["target"] =
                        "null: \(virtual) is a virtual table, such as a search index, and this is a part of it"
                    return entity
                }
                for column in list.columns { entity.attributes[column.name] = .some(nil) }
                entity.about = about(list)
                if list.name == habits?.name {
                    entity.key = key
                    fillHabits(list, &entity)
                } else if rivals.contains(list.name) {
                    entity.questions["target"] = "Habit, or null? other lists may have the habits, too"
                    fillHabits(list, &entity)
                } else if let log = logs.first(where: { $0.list.name == list.name }) {
                    fillEntries(log, habits, &entity)
                }
                return entity
            }
        )
    }

    // MARK: Choosing lists

    /// The list of habits, and the others that may be one.
    private func chooseHabits() -> (habits: SuggestedList?, rivals: Set<String>) {
        let called = open.filter { $0.nearness(to: "Habit") > 0 && !isLog($0) }
        let best = called.map { $0.nearness(to: "Habit") }.max()
        let nearest = called.filter { $0.nearness(to: "Habit") == best }
        // Lists with names in whose rows days are nested.
        let parents = open.filter { list in
            list.nameColumn(isCalled: true) != nil
                && open.contains { $0.dayColumn != .missing && $0.table.rows.first?.ancestors.last?.list == list.name }
        }
        var habits = nearest.count == 1 ? nearest.first : nil
        // An array at the top of a JSON file has no name of its own.
        if called.isEmpty, parents.count == 1, parents[0].name == "items" { habits = parents[0] }
        return (habits, Set((called + parents).map(\.name)).subtracting([habits?.name].compactMap { $0 }))
    }

    /// Whether a list that is called like habits has entries.
    private func isLog(_ list: SuggestedList) -> Bool {
        guard list.dayColumn.rank >= 3 else { return false }
        return open.count == 1 || list.columns.contains(where: \.isCalledHabit)
            || list.nameColumn(isCalled: true) == nil
    }

    /// A list that may have entries.
    private struct Log {
        let list: SuggestedList
        let owner: SuggestedList.Owner
        /// Why it may have none; nil if it is sure.
        var question: String?
    }

    private func chooseLogs(_ habits: SuggestedList?, _ rivals: Set<String>) -> [Log] {
        var logs = open.compactMap { list -> Log? in
            guard list.name != habits?.name, !rivals.contains(list.name) else { return nil }
            let owner = list.owner(in: habits)
            guard list.dayColumn != .missing else {
                guard owner != .nobody, list.nearness(to: "Entry") > 0 else { return nil }
                return Log(list: list, owner: owner, question: "Entry, or null? no column has days")
            }
            if let parent = list.table.rows.first?.ancestors.last?.list, rivals.contains(parent) {
                return Log(list: list, owner: owner, question: "Entry, or null? it is so if \(parent) becomes Habit")
            }
            guard owner != .nobody || list.nearness(to: "Entry") > 0 || open.count == 1 else { return nil }
            return Log(list: list, owner: owner)
        }
        let sure = logs.filter { $0.question == nil && $0.owner != .nobody }
        let called = sure.filter { $0.list.nearness(to: "Entry") > 0 }
        let chosen = called.isEmpty ? sure : called
        for place in logs.indices where logs[place].question == nil && open.count > 1 {
            let log = logs[place]
            let isDeclared = log.list.table.references.values.contains { $0.lowercased() == habits?.name.lowercased() }
            if chosen.count != 1 || chosen[0].list.name != log.list.name {
                logs[place].question = "Entry, or null? it has days, and so has another list"
                if chosen.isEmpty {
                    logs[place].question = "Entry, or null? it has days, and nothing says of which habits"
                }
            } else if !isDeclared, log.list.nearness(to: "Entry") == 0 {
                logs[place].question = "Entry, or null? it has days of habits, and is not called like entries"
            }
        }
        // With no list to go by, each one that may be something is asked about.
        if habits == nil, rivals.isEmpty, logs.isEmpty {
            return open.map { Log(list: $0, owner: .nobody, question: "Habit, Entry, or null? nothing says so") }
        }
        return logs
    }

    // MARK: Habits

    private func fillHabits(_ list: SuggestedList, _ entity: inout Entity) {
        if entity.questions["target"] == nil, list.dayColumn.rank >= 3 {
            entity.questions["target"] = "Habit, or null? it has a column of days, as entries have"
        }
        if entity.questions["target"] == nil { entity.target = "Habit" }
        if let name = list.nameColumn(isCalled: true) {
            take(name.name, "name", "called like it", &entity)
        } else if let name = list.nameColumn(isCalled: false) {
            entity.questions[name.name] = "name, or null? its values may be names, and it is not called so"
        } else {
            entity.questions["target"] = "Habit, or null? no column has names for certain"
            entity.target = nil
        }
        entity.key = entity.key ?? list.key?.name
        for attribute in ["createdAt", "isArchived", "category", "unit", "target"] {
            guard let column = nearest(attribute, list, entity), column.fits(attribute) else { continue }
            take(column.name, attribute, "called like it", &entity)
            if attribute == "createdAt" { entity.dates = column.days?.form }
        }
        for column in list.columns where entity.attributes[column.name] == .some(nil) && column.name != entity.key {
            if column.isDeletion || column.namesKinds || column.saysDone {
                ask("which of its values are habits? name them in only", column, &entity)
            } else if column.mayHaveEntries {
                entity.questions[column.name] =
                    "may its lists, which are not read as entries, be kept next to the store?"
            }
        }
    }

    // MARK: Entries

    private func fillEntries(_ log: Log, _ habits: SuggestedList?, _ entity: inout Entity) {
        let list = log.list
        entity.questions["target"] = log.question
        switch list.dayColumn {
        case .sure(let column):
            take(column.name, "date", "its values are days or instants", &entity)
            entity.dates = column.days?.form
            if let unread = column.days?.unread, unread > 0 {
                entity.questions[column.name] =
                    "\(unread) of its values are no days: may they be kept next to the store?"
            }
        case .unclear(let column, let question): entity.questions[column.name] = question
        case .missing: break
        }
        switch log.owner {
        case .nested: break
        case .column(let link, _):
            entity.attributes[link] = nil
            entity.relationships[link] = .some("habit")
            entity.about[link, default: ""] += "; becomes habit: it is called like a habit, or leads to one"
        case .unclear(let column, let question): entity.questions[column] = question
        case .nobody where log.question == nil:
            if habits == nil, list.hasColumnPerHabit {
                entity.columns = ["*"]
                for column in list.columns where column.name != "" && entity.attributes[column.name] == .some(nil) {
                    entity.attributes[column.name] = nil
                }
                entity.about["columns"] =
                    "each other column is a habit, and each mark in it an entry; name them to leave others out"
                entity.target = "Entry"
                return
            }
            entity.questions["target"] =
                "Entry, or null? no column says of which habit: name it in relationships, or the habits' columns in columns"
        case .nobody: if list.dayColumn == .missing { return }
        }
        if case .unclear = log.owner, case .unclear = list.dayColumn, log.question == nil {
            entity.questions["target"] = "Entry, Habit, or null? neither the day nor the habit of a row is certain"
        }
        if entity.questions["target"] == nil { entity.target = "Entry" }
        askOfRows(list, &entity)
        if let column = nearest("note", list, entity), column.fits("note") {
            take(column.name, "note", "called like it", &entity)
        }
        if let column = nearest("value", list, entity) { takeValue(column, &entity) }
    }

    /// Asks about columns that may say whether something was done.
    private func askOfRows(_ list: SuggestedList, _ entity: inout Entity) {
        for column in list.columns where entity.attributes[column.name] == .some(nil) && column.name != list.key?.name {
            if column.saysWhatHappened, entity.questions[column.name] == nil {
                ask("which of its values are entries? name them in only", column, &entity)
            }
        }
    }

    private func takeValue(_ column: SuggestedColumn, _ entity: inout Entity) {
        let numbers = column.values.compactMap { TableValue.number($0) }
        if numbers.count < column.values.count {
            guard !numbers.isEmpty else { return }
            entity.questions[column.name] =
                "value, or null? \(column.values.count - numbers.count) of its values are not numbers"
            return
        }
        // Amounts of 0 alone say nothing.
        guard numbers.contains(where: { $0 != 0 }) else { return }
        take(column.name, "value", "called like it", &entity)
        if numbers.contains(where: { $0 <= 0 }) {
            entity.questions[column.name] = "are rows with 0 or less entries? if not, name the other values in only"
        }
    }

    private func ask(_ question: String, _ column: SuggestedColumn, _ entity: inout Entity) {
        entity.questions[column.name] = question
        let values = column.distinct.sorted().prefix(8).map { String($0.prefix(20)) }
        entity.about[column.name, default: ""] += "; " + values.joined(separator: ", ")
    }

    private func take(_ column: String, _ attribute: String, _ why: String, _ entity: inout Entity) {
        entity.attributes[column] = .some(attribute)
        entity.about[column, default: ""] += "; becomes \(attribute): \(why)"
    }

    /// The free column whose name is most similar to an attribute's.
    private func nearest(_ attribute: String, _ list: SuggestedList, _ entity: Entity) -> SuggestedColumn? {
        let near = list.columns.filter { entity.attributes[$0.name] == .some(nil) && $0.name != entity.key }
            .filter { entity.questions[$0.name] == nil }.map { ($0, MappingWords.nearness($0.name, attribute)) }
        return near.filter { $0.1 > 0 }.max { $0.1 < $1.1 }?.0
    }

    // MARK: Descriptions

    private func about(_ list: SuggestedList) -> [String: String] {
        var result: [String: String] = [:]
        for column in list.columns {
            result[column.name] = "\(column.kind), in \(column.values.count) of \(list.table.rows.count) rows"
        }
        result["target"] =
            "Habit (needs name; has createdAt, isArchived, category, unit, target, timesPerPeriod, periodDays), "
            + "Entry (needs date; has value, note, and the relationship habit), or null: kept next to the store"
        return result
    }
}

/// A list with what its columns say.
struct SuggestedList {
    /// The column that says of which habit a row is.
    enum Owner: Equatable {
        case nobody
        /// The row of habits that a row is nested in.
        case nested
        /// A column, and the column of the habits that it leads to; nil if its values are the habits' names.
        case column(String, key: String?)
        case unclear(String, question: String)
    }

    /// The column with the day of a row.
    enum DayColumn: Equatable {
        case missing
        case sure(SuggestedColumn)
        case unclear(SuggestedColumn, question: String)

        /// How much its name says that it is the day.
        var rank: Int {
            switch self {
            case .missing: 0
            case .sure(let column), .unclear(let column, _): column.dayRank
            }
        }
    }

    let table: SourceTables.Table
    let columns: [SuggestedColumn]
    let dayColumn: DayColumn

    var name: String { table.name }

    init(_ table: SourceTables.Table) {
        self.table = table
        let isMap = Set(table.columns).isSubset(of: ["key", "value"]) && !table.rows.isEmpty
        columns = table.columns.map { column in
            SuggestedColumn(
                column,
                table.rows,
                isOfMap: isMap && column == (table.columns.contains("key") ? "key" : "value")
            )
        }
        dayColumn = Self.dayColumn(columns)
    }

    private static func dayColumn(_ columns: [SuggestedColumn]) -> DayColumn {
        let readable = columns.filter { $0.days != nil }
        let unreadable = columns.filter { $0.days == nil && $0.looksLikeDays }
        guard let best = readable.max(by: { $0.dayRank < $1.dayRank }), let days = best.days else {
            let column = unreadable.max { $0.dayRank < $1.dayRank }
            return column.map {
                .unclear($0, question: "the day? no form of dates reads its values; write them as 2026-01-31")
            } ?? .missing
        }
        if days.isAmbiguous {
            return .unclear(best, question: "date, with dates dayMonthYear or monthDayYear? both read its values")
        }
        if best.dayRank < 3 {
            return .unclear(best, question: "date, or null? its values are days, and its name does not say which")
        }
        if readable.count(where: { $0.dayRank == best.dayRank }) > 1 {
            return .unclear(best, question: "date, or null? another column has days, too")
        }
        if best.dayRank == 3, unreadable.contains(where: { $0.dayRank > 3 }) {
            return .unclear(best, question: "date, or null? another column looks like the day, and cannot be read")
        }
        return .sure(best)
    }

    /// How much the list is called like an entity: by its name, or by the last word of it.
    func nearness(to target: String) -> Int {
        if target == "Entry", columns.count <= 2, columns.contains(where: \.isOfMap), dayColumn != .missing {
            return MappingWords.nearness(target, target)
        }
        let last = name.split(separator: ".").last.map(String.init) ?? name
        let word = SuggestedColumn.words(last).last.map { MappingWords.nearness($0, target) } ?? 0
        return max(MappingWords.nearness(last, target), word > 0 ? max(1, word - 50) : 0)
    }

    /// The column with the names of habits: the one that is most clearly called so, or the only one that may be it.
    func nameColumn(isCalled: Bool) -> SuggestedColumn? {
        let possible = columns.filter { $0.isName && $0.isMostlyDistinct && (isCalled == ($0.nameRank > 0)) }
        let best = possible.filter { column in possible.allSatisfy { $0.nameRank <= column.nameRank } }
        return best.count == 1 ? best[0] : nil
    }

    /// The column with the identifiers of its rows.
    var key: SuggestedColumn? {
        columns.first { ["id", "_id", "uuid", "key", "identifier"].contains($0.name.lowercased()) && $0.isUnique }
    }

    func owner(in habits: SuggestedList?) -> Owner {
        guard let habits else { return ownerByName }
        if table.rows.allSatisfy({ row in row.ancestors.contains { $0.list == habits.name } }) { return .nested }
        let declared = columns.filter { table.references[$0.name]?.lowercased() == habits.name.lowercased() }
        let stem = habits.name.split(separator: ".").last ?? ""
        let called = columns.filter { column in
            column.isCalledHabit
                || ["id", "uuid", "key"].contains { column.plain.hasSuffix($0) && column.leads(to: String(stem), $0) }
        }
        let possible = declared.isEmpty ? called : declared
        let found = possible.compactMap { column in
            habits.keyOf(column).map { Owner.column(column.name, key: $0.name) }
        }
        if found.count == 1 { return found[0] }
        guard let first = possible.first else { return .nobody }
        let why = found.isEmpty ? "its values are in no column of \(habits.name)" : "another column leads there, too"
        return .unclear(first.name, question: "the relationship habit, or null? \(why)")
    }

    /// The column that most values of another one are found in.
    private func keyOf(_ link: SuggestedColumn) -> SuggestedColumn? {
        let possible = columns.filter { column in
            column.isUnique && 2 * link.plainTexts.count { column.distinct.contains($0) } > link.values.count
        }
        return possible.first { $0.name == key?.name } ?? possible.first
    }

    /// The column with the habits' names, in a file without a list of habits.
    private var ownerByName: Owner {
        let called = columns.filter(\.isCalledHabit)
        let names = called.filter { $0.isName && !$0.hasLists && !$0.isIdentifier }
        let identifiers = called.filter { column in !names.contains { $0.name == column.name } }
        if let name = names.first {
            guard names.count == 1 else {
                return .unclear(name.name, question: "the relationship habit? another one could be it")
            }
            guard identifiers.allSatisfy({ goTogether($0.name, name.name) }) else {
                return .unclear(
                    name.name,
                    question: "the relationship habit? a name is there with several identifiers, or the reverse"
                )
            }
            return .column(name.name, key: nil)
        }
        let titles = columns.filter { $0.nameRank > 0 && $0.isName && !$0.hasLists }
        if let identifier = identifiers.first {
            let going = titles.filter { goTogether(identifier.name, $0.name) }
            if identifiers.count == 1, going.count == 1 { return .column(going[0].name, key: nil) }
            return .unclear(
                identifier.name,
                question: "the relationship habit? its values do not look like names, or are several"
            )
        }
        return titles.first.map {
            .unclear($0.name, question: "the relationship habit, or null? it may be the name of a row")
        } ?? .nobody
    }

    /// Whether each value of one column is in the same rows as one value of the other.
    private func goTogether(_ left: String, _ right: String) -> Bool {
        var (forth, back): ([String: String], [String: String]) = ([:], [:])
        return table.rows.allSatisfy { row in
            guard let one = row.fields[left]?.plainText, let other = row.fields[right]?.plainText else { return false }
            let isSame = (forth[one] ?? other) == other && (back[other] ?? one) == one
            (forth[one], back[other]) = (other, one)
            return isSame
        }
    }

    /// Whether all columns except for the day's have marks of habits.
    var hasColumnPerHabit: Bool {
        guard case .sure(let day) = dayColumn else { return false }
        let others = columns.filter { $0.name != day.name && !($0.name == "" && $0.values.isEmpty) }
        return others.contains { $0.isMarks && $0.values.contains(where: TableValue.isKept) }
            && others.allSatisfy { $0.isHabitsColumn }
    }
}

extension CoreDataMapping {
    /// Suggests a mapping of a database, CSV or JSON file without a dedicated reader, from the names and contents of its columns. What is not
    /// sure is a question, which an import refuses until it is answered.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownFormat`` if the file has no list of records.
    public static func suggested(forTablesAt path: String) throws -> CoreDataMapping {
        TableSuggestion(try SourceTables(path: path)).mapping()
    }
}
