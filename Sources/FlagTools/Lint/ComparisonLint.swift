import FeatureFlags
import JSONText

/// Finds comparisons and searches that are written as in another language and mean something else here.
struct ComparisonLint {
    let reader: RuleReader
    let collector: LintCollector

    private static let timestamp = "$flagd.timestamp"
    /// 100 billion seconds after 1970 is in the year 5138, so this is a time in milliseconds.
    private static let firstMilliseconds = 100_000_000_000.0
    /// 2001-09-09, before any flag existed.
    private static let firstSeconds = 1_000_000_000.0

    func check(_ operation: RuleReader.Operation) {
        switch operation.name {
        case "==", "!=", "===", "!==":
            checkTimestamp(operation, isOrder: false)
            checkEquality(operation)
        case "<", "<=", ">", ">=":
            checkTimestamp(operation, isOrder: true)
            checkOrder(operation)
        case "in": checkIn(operation)
        case "starts_with", "ends_with": checkAffix(operation)
        case "and", "or": checkRepeated(operation)
        default: break
        }
    }

    // MARK: Times

    private func checkTimestamp(_ operation: RuleReader.Operation, isOrder: Bool) {
        guard operation.arguments.contains(where: { reader.variablePath($0) == Self.timestamp }) else { return }
        for argument in operation.arguments {
            guard let value = reader.constant(argument) else { continue }
            switch value {
            case .string(let text) where JavaScriptNumber(parsing: text) == nil:
                // For an equality, another check compares the types.
                guard isOrder else { continue }
                let seconds =
                    UTCDate.seconds(of: text).map { "; write \($0)" } ?? ", as \"date -u -d 2026-12-01 +%s\" prints it"
                add(
                    .timestamp,
                    "\"$flagd.timestamp\" is a number of seconds, and never before or after a text\(seconds)",
                    argument.range
                )
            case .int, .double, .string:
                guard let number = value.convertedNumber?.double else { continue }
                checkSeconds(number, argument.range)
            case .null, .bool, .list, .object:
                continue
            }
        }
    }

    private func checkSeconds(_ number: Double, _ range: Range<Int>) {
        if number >= Self.firstMilliseconds {
            let seconds = Int64(exactly: (number / 1000).rounded(.down)).map { "; write \($0)" } ?? ""
            add(.timestamp, "\"$flagd.timestamp\" counts seconds, and this is a time in milliseconds\(seconds)", range)
        } else if number < Self.firstSeconds {
            collector.add(
                .timestamp,
                "\"$flagd.timestamp\" counts seconds since 1970, and this is a time before September 2001",
                at: range,
                severity: .warning
            )
        }
    }

    // MARK: Equality and order

    private func checkEquality(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 2 else { return }
        for (argument, other) in [(0, 1), (1, 0)].map({ (operation.arguments[$0.0], operation.arguments[$0.1]) }) {
            guard reader.constant(other) == nil, let value = reader.constant(argument) else { continue }
            switch value {
            case .list where reader.types(other) == nil:
                add(
                    .typeMismatch,
                    "this compares with a list as a whole; \"in\" looks for a value in it",
                    argument.range
                )
            case .string(let text):
                if text == "true" || text == "false" {
                    add(
                        .typeMismatch,
                        "this compares with the text \(quoted(text)), which the boolean is not equal to; leave the quotes out",
                        argument.range
                    )
                }
                checkText(text, argument.range)
            case .null, .bool, .int, .double, .list, .object: continue
            }
        }
    }

    private func checkOrder(_ operation: RuleReader.Operation) {
        guard operation.arguments.contains(where: { reader.constant($0) == nil }) else { return }
        for argument in operation.arguments {
            guard case .string(let text)? = reader.constant(argument), text.contains("."),
                text.split(separator: ".").count > 2, SemanticVersion(text) != nil
            else { continue }
            add(
                .typeMismatch,
                "\(quoted(operation.name)) compares versions as texts, so that 10.0.0 comes before 9.0.0; use \"sem_ver\"",
                argument.range
            )
        }
    }

    // MARK: Searches

    private func checkIn(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 2 else { return }
        let (needle, haystack) = (operation.arguments[0], operation.arguments[1])
        switch (reader.constant(needle), reader.constant(haystack)) {
        case (.list?, nil):
            collector.add(
                .exchangedArguments,
                "\"in\" looks for its first argument in the second; the list stands first",
                at: needle.range,
                severity: .error
            )
        case (.string?, nil) where reader.variablePath(haystack) == "targetingKey":
            add(
                .exchangedArguments,
                "\"in\" looks for its first argument in the second: this is true for every id with this text in it",
                needle.range
            )
        case (nil, .string(let text)?):
            guard !text.isEmpty else { return }
            add(
                .exchangedArguments,
                "\"in\" with a text is true for every part of the text; to look for values, write a list",
                haystack.range
            )
        case (nil, .list(let elements)?):
            checkElements(elements, haystack)
        default: break
        }
    }

    private func checkElements(_ elements: [FlagValue], _ haystack: JSONNode) {
        let nodes: [JSONNode] = if case .array(let nodes) = reader.resolved(haystack).value { nodes } else { [] }
        var known: Set<FlagValue> = []
        for (index, element) in elements.enumerated() {
            let range = index < nodes.count ? nodes[index].range : haystack.range
            if !known.insert(element).inserted {
                collector.add(.duplicateKey, "this is in the list twice", at: range, severity: .warning)
            }
            if case .string(let text) = element { checkText(text, range) }
        }
    }

    private func checkAffix(_ operation: RuleReader.Operation) {
        guard operation.arguments.count == 2 else { return }
        let (text, affix) = (operation.arguments[0], operation.arguments[1])
        switch (reader.constant(text), reader.constant(affix)) {
        case (.string?, nil):
            add(
                .exchangedArguments,
                "\(quoted(operation.name)) looks at its first argument, and this is a text of the file; exchange the arguments",
                text.range
            )
        case (nil, .string(let affix)?) where affix.isEmpty:
            add(
                .constantCondition,
                "every text begins and ends with the empty text; this is always true",
                operation.arguments[1].range
            )
        case (nil, .string(let text)?):
            checkText(text, affix.range)
        default: break
        }
    }

    /// Checks a text that is compared with something.
    private func checkText(_ text: String, _ range: Range<Int>) {
        if text.hasPrefix("*") || text.hasSuffix("*") {
            add(
                .suspiciousText,
                "there are no wildcards, and this looks for a \"*\"; use \"starts_with\" or \"ends_with\"",
                range
            )
        }
        if let first = text.first, let last = text.last, first.isWhitespace || last.isWhitespace {
            add(.suspiciousText, "this text begins or ends with white space, and is compared with it", range)
        }
    }

    private func checkRepeated(_ operation: RuleReader.Operation) {
        var known: Set<FlagValue> = []
        let size = operation.arguments.reduce(0) { $0 + $1.range.count / 8 }
        guard reader.work.spend(size, at: operation.nameRange) else { return }
        for argument in operation.arguments where !known.insert(argument.flagValue).inserted {
            add(.constantCondition, "this is in the \(quoted(operation.name)) twice", argument.range)
        }
    }

    private func add(_ rule: LintRule, _ message: String, _ range: Range<Int>) {
        collector.add(rule, message, at: range)
    }
}

/// Parses times that people write into seconds since 1970, which rules compare.
enum UTCDate {
    /// The seconds of `2026-12-01` or `2026-12-01T08:30`, optionally with seconds and a `Z`, in UTC; nil for other texts.
    static func seconds(of text: String) -> Int64? {
        var text = Substring(text)
        if text.last == "Z" { text = text.dropLast() }
        let halves = text.split(separator: text.contains("T") ? "T" : " ", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), let days = days(halves[0]) else { return nil }
        guard halves.count == 2 else { return days * 86_400 }
        guard let time = numbers(halves[1], separator: ":"), (2...3).contains(time.count), time[0] < 24, time[1] < 60,
            time.count == 2 || time[2] < 60
        else { return nil }
        return days * 86_400 + time[0] * 3600 + time[1] * 60 + (time.count == 3 ? time[2] : 0)
    }

    private static func days(_ text: Substring) -> Int64? {
        guard let date = numbers(text, separator: "-"), date.count == 3, (1970...9999).contains(date[0]),
            (1...12).contains(date[1]), (1...31).contains(date[2])
        else { return nil }
        // The year begins in March, so that the leap day is its last day.
        let year = date[1] > 2 ? date[0] : date[0] - 1
        let month = date[1] > 2 ? date[1] - 3 : date[1] + 9
        let leapDays = year / 4 - year / 100 + year / 400
        return year * 365 + leapDays + (153 * month + 2) / 5 + date[2] - 1 - 719_468
    }

    private static func numbers(_ text: Substring, separator: Character) -> [Int64]? {
        var numbers: [Int64] = []
        for part in text.split(separator: separator, omittingEmptySubsequences: false) {
            guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int64(part)
            else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
