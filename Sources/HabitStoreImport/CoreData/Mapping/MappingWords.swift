/// Synonyms in the models of different apps.
package enum MappingWords {
    private static let alike: [[String]] = [
        ["habit", "task", "track", "goal", "activity", "routine"],
        ["entry", "outcome", "repetition", "completion", "checkin", "log", "record", "mood", "event", "occurrence"],
        ["tag", "label", "category", "keyword"],
        ["draft", "post"],
        ["name", "title", "caption"],
        ["createdat", "createddate", "creationdate", "created", "dateadded", "addeddate", "effectivedate"],
        ["date", "timestamp", "time", "day", "startdate", "createdat", "createddate"],
        ["note", "notes", "comment", "comments", "remark", "text", "instructions"],
        ["value", "amount", "quantity", "rating", "score", "doublevalue"],
        ["isarchived", "archived", "ishidden", "hidden"],
        ["content", "text", "body", "message"],
        ["unit", "units"], ["target", "goal", "goalvalue"], ["streak", "currentstreak"],
        ["category", "groupidentifier", "group"],
    ]

    /// The similarity of two names: ``same`` for equal names, less for synonyms the later they are in their list, and 0 for all others.
    package static func nearness(_ left: String, _ right: String) -> Int {
        let (left, right) = (plain(left), plain(right))
        if left == right || singular(left) == singular(right) { return same }
        let distances = alike.compactMap { words -> Int? in
            guard let first = words.firstIndex(of: left) ?? words.firstIndex(of: singular(left)),
                let second = words.firstIndex(of: right) ?? words.firstIndex(of: singular(right))
            else { return nil }
            return first + second
        }
        return distances.min().map { same - 1 - $0 } ?? 0
    }

    /// Whether a name has no known meaning.
    static func isNothingElse(_ name: String) -> Bool {
        let word = plain(name)
        return !alike.contains { $0.contains(word) || $0.contains(singular(word)) }
    }

    /// The similarity of equal names.
    static let same = 100

    private static func plain(_ name: String) -> String {
        String((name.split(separator: ".").last ?? "").lowercased().filter { $0.isLetter || $0.isNumber })
    }

    private static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        return name.count > 3 && name.hasSuffix("s") ? String(name.dropLast()) : name
    }

    /// The length of the prefix that all names share before a capital letter: `OCKCD` in `OCKCDTask` and `OCKCDOutcome`.
    static func commonPrefix(_ names: [String]) -> Int {
        guard names.count > 1, let first = names.first else { return 0 }
        var length = first.count
        for name in names { length = min(length, zip(first, name).prefix { $0 == $1 }.count) }
        while length > 0, !names.allSatisfy({ $0.dropFirst(length).first?.isUppercase == true }) { length -= 1 }
        return length
    }
}
