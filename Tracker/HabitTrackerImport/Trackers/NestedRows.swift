import HabitStore
import HabitStoreImport

/// The rows of a list in a JSON file, with the rows they are nested in. Follows the list's path in the file, without using the lists that
/// the import reads.
struct NestedRows {
    struct Row {
        /// A row, by its position in its list.
        struct Owner: Hashable {
            let list: String
            let place: Int
        }

        let fields: [String: ImportJSON]
        let place: Int
        /// The rows it is nested in, outermost first.
        let owners: [Owner]
    }

    private(set) var rows: [Row] = []
    private let list: String
    private var counts: [String: Int] = [:]

    init(of list: String, in file: ImportJSON) {
        self.list = list
        if file.elements != nil { follow(file, "items", []) } else { enter(file, "", []) }
    }

    private mutating func enter(_ object: ImportJSON, _ path: String, _ owners: [Row.Owner]) {
        for (name, value) in (object.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            follow(value, path.isEmpty ? name : path + "." + name, owners)
        }
    }

    private mutating func follow(_ value: ImportJSON, _ path: String, _ owners: [Row.Owner]) {
        guard list == path || list.hasPrefix(path + ".") else { return }
        if let elements = value.elements {
            let isList = path == "items" || elements.contains { $0.members != nil }
            guard isList || elements.allSatisfy({ Self.isDay($0.text) }) else { return }
            for element in elements {
                let owner = add(element.members ?? ["value": element], path, owners)
                enter(element, path, owners + [owner])
            }
        } else if let members = value.members, !members.isEmpty, members.keys.allSatisfy({ Self.isDay($0) }) {
            for (day, value) in members.sorted(by: { $0.key < $1.key }) {
                _ = add(["key": .string(day), "value": value], path, owners)
            }
        } else if owners.isEmpty {
            enter(value, path, owners)
        }
    }

    private mutating func add(_ fields: [String: ImportJSON], _ path: String, _ owners: [Row.Owner]) -> Row.Owner {
        let place = counts[path, default: 0]
        counts[path] = place + 1
        if path == list { rows.append(Row(fields: fields, place: place, owners: owners)) }
        return Row.Owner(list: path, place: place)
    }

    private static func isDay(_ text: String?) -> Bool { text.flatMap { PlainDay.iso(String($0.prefix(10))) } != nil }
}
