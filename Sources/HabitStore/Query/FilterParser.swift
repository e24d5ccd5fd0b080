import Foundation

/// Reads the text form of filters; the grammar is in the article *Query semantics*.
struct FilterParser {
    /// How deep parentheses, braces and NOTs may nest.
    static let maximumDepth = 64
    /// How long a text may be.
    static let maximumBytes = 65_536

    private static let keywords: Set<String> = [
        "AND", "OR", "NOT", "IN", "ANY", "ALL", "COUNT", "EXISTS", "CONTAINS", "BEGINSWITH", "ENDSWITH", "BETWEEN",
        "TRUE", "FALSE", "NIL", "NULL", "LENGTH", "MIN", "MAX", "CASECOMPARE", "COALESCE", "IF", "DATE", "UUID", "DATA",
        "LINKS",
    ]
    /// Keywords that are meant only before a parenthesis, so that attributes may be called so.
    private static let functions: Set<String> = [
        "LENGTH", "MIN", "MAX", "CASECOMPARE", "COALESCE", "IF", "DATE", "UUID", "DATA", "LINKS",
    ]

    private let tokens: [FilterToken]
    private var position = 0
    private var depth = 0
    /// Arithmetic operators so far: each makes the expression one deeper.
    private var operators = 0
    /// The innermost variable, to which names without a prefix belong.
    private var variable = 0

    init(_ text: String) throws { tokens = try FilterLexer.tokens(text) }

    /// Whether a name must be written in backquotes.
    static func needsQuotes(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first else { return true }
        return isKeyword(name) || !first.beginsName || !name.unicodeScalars.allSatisfy(\.continuesName)
    }

    /// Whether a name is a word of the language wherever it stands.
    static func isKeyword(_ name: String) -> Bool {
        keywords.contains(name.uppercased()) && !functions.contains(name.uppercased())
    }

    static func failure(_ message: String, _ column: Int) -> HabitStoreError {
        HabitStoreError(.invalidQuery, "column \(column): \(message)", at: .init(column: column))
    }

    mutating func parse() throws -> FilterExpression {
        if token.kind == .end { return .always }
        let expression = try disjunction()
        guard token.kind == .end else { throw unexpected("the end, AND or OR") }
        return expression
    }

    // MARK: Words

    private var token: FilterToken { tokens[min(position, tokens.count - 1)] }

    private mutating func advance() { position += 1 }

    private mutating func takeSymbol(_ symbol: String) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        advance()
        return true
    }

    private mutating func require(_ symbol: String) throws {
        guard takeSymbol(symbol) else { throw unexpected("\"\(symbol)\"") }
    }

    private var keyword: String? {
        guard case .name(let name) = token.kind, Self.keywords.contains(name.uppercased()) else { return nil }
        let word = name.uppercased()
        if Self.functions.contains(word), position + 1 < tokens.count, tokens[position + 1].kind != .symbol("(") {
            return nil
        }
        return word
    }

    private mutating func takeKeyword(_ word: String) -> Bool {
        guard keyword == word else { return false }
        advance()
        return true
    }

    private func unexpected(_ expected: String) -> HabitStoreError {
        let found: String
        switch token.kind {
        case .end: found = "the text ends"
        case .name(let name), .escapedName(let name): found = "\"\(name)\" stands"
        case .variable(let number): found = "$\(number) stands"
        case .text: found = "a quoted text stands"
        case .whole, .decimal: found = "a number stands"
        case .symbol(let symbol): found = "\"\(symbol)\" stands"
        }
        return Self.failure("\(found) where \(expected) is expected", token.column)
    }

    private mutating func nested<R>(_ body: (inout FilterParser) throws -> R) throws -> R {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else {
            throw Self.failure("filters may nest \(Self.maximumDepth) deep at most", token.column)
        }
        return try body(&self)
    }

    // MARK: Conditions

    private mutating func disjunction() throws -> FilterExpression {
        var parts = [try conjunction()]
        while takeKeyword("OR") || takeSymbol("||") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func conjunction() throws -> FilterExpression {
        var parts = [try negation()]
        while takeKeyword("AND") || takeSymbol("&&") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func negation() throws -> FilterExpression {
        guard takeKeyword("NOT") || takeSymbol("!") else { return try comparison() }
        return .not(try nested { try $0.negation() })
    }

    private mutating func comparison() throws -> FilterExpression {
        let left = try sum()
        if case .symbol(let symbol) = token.kind {
            let word = symbol == "=" ? "==" : symbol
            if let comparison = FilterExpression.Comparison(rawValue: word) {
                advance()
                // `==[c]` compares texts without regard to letter case.
                guard takeSymbol("[c]") else { return .compare(comparison, left, try sum()) }
                return .compare(comparison, .caseInsensitiveOrder(left, try sum()), .literal(.int(0)))
            }
        }
        switch keyword {
        case "IN":
            advance()
            return .isIn(left, try list())
        case "BETWEEN":
            advance()
            let lower = try sum()
            guard takeKeyword("AND") else { throw unexpected("AND") }
            return .and([.compare(.greaterOrEqual, left, lower), .compare(.lessOrEqual, left, try sum())])
        case "CONTAINS":
            advance()
            return .text(takeSymbol("[cd]") ? .searches : .contains, left, try sum())
        case "BEGINSWITH":
            advance()
            return .text(.beginsWith, left, try sum())
        case "ENDSWITH":
            advance()
            return .text(.endsWith, left, try sum())
        default: return left
        }
    }

    // MARK: Values

    private mutating func sum() throws -> FilterExpression {
        var left = try product()
        while case .symbol(let symbol) = token.kind, symbol == "+" || symbol == "-" {
            try takeOperator()
            left = .arithmetic(symbol == "+" ? .add : .subtract, left, try product())
        }
        return left
    }

    private mutating func product() throws -> FilterExpression {
        var left = try primary()
        while case .symbol(let symbol) = token.kind, ["*", "/", "%"].contains(symbol),
            let operation = FilterExpression.Arithmetic(rawValue: symbol)
        {
            try takeOperator()
            left = .arithmetic(operation, left, try primary())
        }
        return left
    }

    private mutating func takeOperator() throws {
        operators += 1
        guard operators <= Self.maximumDepth else {
            throw Self.failure("a filter may have \(Self.maximumDepth) arithmetic operators at most", token.column)
        }
        advance()
    }

    private mutating func primary() throws -> FilterExpression {
        if takeSymbol("(") {
            return try nested { parser in
                let inner = try parser.disjunction()
                try parser.require(")")
                return inner
            }
        }
        switch keyword {
        case "ANY": return try collection { .some($0, variable: $1, $2) }
        case "ALL": return try collection { .every($0, variable: $1, $2) }
        case "COUNT": return try collection { .count($0, variable: $1, $2) }
        case "EXISTS":
            advance()
            return .exists(try recordPath())
        case "LENGTH": return .length(try arguments(1)[0])
        case "MIN": return .least(try arguments(1)[0])
        case "MAX": return .greatest(try arguments(1)[0])
        case "CASECOMPARE":
            let arguments = try arguments(2)
            return .caseInsensitiveOrder(arguments[0], arguments[1])
        case "COALESCE":
            let arguments = try arguments(2)
            return .coalesce(arguments[0], arguments[1])
        case "IF":
            let arguments = try arguments(3)
            return .conditional(arguments[0], arguments[1], arguments[2])
        default: break
        }
        if let value = try literal() { return .literal(value) }
        return .attribute(try attributePath())
    }

    private mutating func arguments(_ count: Int) throws -> [FilterExpression] {
        advance()
        return try nested { parser in
            try parser.require("(")
            var arguments = [try parser.disjunction()]
            while arguments.count < count {
                try parser.require(",")
                arguments.append(try parser.disjunction())
            }
            try parser.require(")")
            return arguments
        }
    }

    private mutating func list() throws -> [Value] {
        let opening = takeSymbol("[") ? "]" : (takeSymbol("(") ? ")" : (takeSymbol("{") ? "}" : nil))
        guard let closing = opening else { throw unexpected("a list in brackets") }
        var values: [Value] = []
        while !takeSymbol(closing) {
            if !values.isEmpty { try require(",") }
            guard let value = try literal() else { throw unexpected("a constant") }
            values.append(value)
        }
        return values
    }

    private mutating func literal() throws -> Value? {
        switch token.kind {
        case .text(let text):
            advance()
            return .string(text.normalizedToNFC())
        case .whole(let number):
            advance()
            return .int(number)
        case .decimal(let number):
            advance()
            return .double(number == 0 ? 0 : number)
        case .symbol("["):
            return .strings(
                try list().map { value in
                    guard case .string(let text) = value else { throw unexpected("a list of quoted texts") }
                    return text
                }
            )
        default: break
        }
        switch keyword {
        case "TRUE", "FALSE":
            defer { advance() }
            return .bool(keyword == "TRUE")
        case "NIL", "NULL":
            advance()
            return .null
        case "DATE", "UUID", "DATA": return try wrappedLiteral()
        case "LINKS": return try links()
        default: return nil
        }
    }

    /// `date(700000000.5)`, `date("2026-01-31")`, `uuid("…")`, `data("<base64>")`.
    private mutating func wrappedLiteral() throws -> Value {
        let word = keyword
        let column = token.column
        advance()
        try require("(")
        let argument = token.kind
        advance()
        try require(")")
        switch (word, argument) {
        case ("DATE", .whole(let seconds)): return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        case ("DATE", .decimal(let seconds)): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case ("DATE", .text(let text)):
            if let date = TextDate.parse(text) { return .date(date) }
        case ("UUID", .text(let text)):
            if let id = UUID(uuidString: text) { return .uuid(id) }
        case ("DATA", .text(let text)):
            if let bytes = Data(base64Encoded: text) { return .data(bytes) }
        default: break
        }
        throw Self.failure("invalid \((word ?? "value").lowercased())", column)
    }

    /// `links(["<UUID>", …])`.
    private mutating func links() throws -> Value {
        advance()
        try require("(")
        let column = token.column
        let ids = try list().map { value -> UUID in
            guard case .string(let text) = value, let id = UUID(uuidString: text) else {
                throw Self.failure("links are written as a list of UUIDs in quotes", column)
            }
            return id
        }
        try require(")")
        return try Value.links(ids).normalized()
    }

    // MARK: Paths

    private mutating func collection(
        _ make: (CollectionPath, Int, FilterExpression) -> FilterExpression
    ) throws -> FilterExpression {
        advance()
        let path = try attributePath()
        var number = variable + 1
        if case .variable(let written) = token.kind {
            number = written
            advance()
        }
        var inner = FilterExpression.always
        if takeSymbol("{") {
            let outer = variable
            variable = number
            inner = try nested { try $0.disjunction() }
            variable = outer
            try require("}")
        }
        return make(CollectionPath(path.attribute, of: path.record), number, inner)
    }

    private mutating func attributePath() throws -> AttributePath {
        let (variable, names) = try names()
        guard let last = names.last else { throw unexpected("\".\" and an attribute") }
        return AttributePath(last, of: RecordPath(variable: variable, hops: Array(names.dropLast())))
    }

    private mutating func recordPath() throws -> RecordPath {
        let (variable, names) = try names()
        return RecordPath(variable: variable, hops: names)
    }

    private mutating func names() throws -> (Int, [String]) {
        var names: [String] = []
        var start = variable
        if case .variable(let number) = token.kind {
            start = number
            advance()
            guard takeSymbol(".") else { return (start, []) }
        }
        repeat {
            switch token.kind {
            case .name(let name) where keyword == nil: names.append(name)
            case .escapedName(let name): names.append(name)
            default: throw unexpected("an attribute or a value")
            }
            advance()
        } while takeSymbol(".")
        return (start, names)
    }
}
