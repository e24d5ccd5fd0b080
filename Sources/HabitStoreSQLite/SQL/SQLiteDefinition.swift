/// The declaration of a table or an index, however it is formatted.
///
/// Accepts only what versions of this project have written. A collation, a default, a constraint, an expression, a condition or a
/// comment makes a declaration that no store has, and parsing it gives nil.
enum SQLiteDefinition: Equatable {
    case table(Table)
    case index(Index)

    struct Column: Equatable {
        let name: String
        let type: String
        var isNotNull: Bool
    }

    struct Table: Equatable {
        let name: String
        var columns: [Column]
        var primaryKey: [String]
        var isStrict = false
        var isWithoutRowID = false
    }

    struct Index: Equatable {
        let name: String
        let table: String
        let columns: [String]
    }

    /// - Returns: nil for a declaration that no store has.
    init?(_ sql: some Collection<UInt8>) {
        guard var reader = SQLiteDefinitionReader(sql), let definition = reader.definition() else { return nil }
        self = definition
    }

    var name: String {
        switch self {
        case .table(let table): table.name
        case .index(let index): index.name
        }
    }

    /// The table itself, or the one that the index is on.
    var table: String {
        switch self {
        case .table(let table): table.name
        case .index(let index): index.table
        }
    }
}

/// Parses the few forms of declarations that stores have.
struct SQLiteDefinitionReader {
    private enum Token: Equatable {
        case word(String)
        case quoted(String)
        case symbol(UInt8)
    }

    private var tokens: ArraySlice<Token>

    /// - Returns: nil for text with anything other than words, names in double quotes, commas and parentheses.
    init?(_ sql: some Collection<UInt8>) {
        var tokens: [Token] = []
        var rest = sql[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\n"): rest = rest.dropFirst()
            case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","):
                tokens.append(.symbol(byte))
                rest = rest.dropFirst()
            case UInt8(ascii: "\""):
                guard let name = Self.quoted(&rest) else { return nil }
                tokens.append(.quoted(name))
            default:
                let word = rest.prefix(while: Self.isOfWord)
                guard !word.isEmpty else { return nil }
                tokens.append(.word(String(decoding: word, as: UTF8.self)))
                rest = rest.dropFirst(word.count)
            }
        }
        self.tokens = tokens[...]
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// A name in double quotes, where a doubled quote stands for one.
    private static func quoted<Text: Collection<UInt8>>(_ rest: inout Text) -> String? where Text.SubSequence == Text {
        let quote = UInt8(ascii: "\"")
        var name: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.first {
            rest = rest.dropFirst()
            if byte == quote {
                guard rest.first == quote else { return String(validating: name, as: UTF8.self) }
                rest = rest.dropFirst()
            }
            name.append(byte)
        }
        return nil
    }

    // MARK: Forms

    mutating func definition() -> SQLiteDefinition? {
        guard takes("CREATE") else { return nil }
        let definition: SQLiteDefinition?
        if takes("TABLE") {
            definition = table().map(SQLiteDefinition.table)
        } else if takes("INDEX") {
            definition = index().map(SQLiteDefinition.index)
        } else {
            definition = nil
        }
        return tokens.isEmpty ? definition : nil
    }

    private mutating func table() -> SQLiteDefinition.Table? {
        // SQLite drops these words from the text that it stores, but our own statements contain them.
        if takes("IF") { guard takes("NOT"), takes("EXISTS") else { return nil } }
        guard let name = name(), takes("(") else { return nil }
        var table = SQLiteDefinition.Table(name: name, columns: [], primaryKey: [])
        repeat {
            if takes("PRIMARY") {
                guard takes("KEY"), table.primaryKey.isEmpty, let names = names() else { return nil }
                table.primaryKey = names
            } else {
                guard readColumn(&table) else { return nil }
            }
        } while takes(",")
        guard takes(")"), readOptions(&table) else { return nil }
        // A column of the key is never NULL, whether or not its declaration says so.
        for place in table.columns.indices where table.primaryKey.contains(table.columns[place].name) {
            table.columns[place].isNotNull = true
        }
        return table
    }

    private mutating func readColumn(_ table: inout SQLiteDefinition.Table) -> Bool {
        guard let name = name(), case .word(let type)? = tokens.popFirst() else { return false }
        var column = SQLiteDefinition.Column(name: name, type: type, isNotNull: false)
        while true {
            if takes("NOT") {
                guard takes("NULL"), !column.isNotNull else { return false }
                column.isNotNull = true
            } else if takes("PRIMARY") {
                guard takes("KEY"), table.primaryKey.isEmpty else { return false }
                table.primaryKey = [name]
            } else {
                table.columns.append(column)
                return true
            }
        }
    }

    private mutating func readOptions(_ table: inout SQLiteDefinition.Table) -> Bool {
        guard !tokens.isEmpty else { return true }
        repeat {
            if takes("STRICT") {
                table.isStrict = true
            } else {
                guard takes("WITHOUT"), takes("ROWID") else { return false }
                table.isWithoutRowID = true
            }
        } while takes(",")
        return true
    }

    private mutating func index() -> SQLiteDefinition.Index? {
        guard let name = name(), takes("ON"), let table = self.name(), let columns = names() else { return nil }
        return SQLiteDefinition.Index(name: name, table: table, columns: columns)
    }

    // MARK: Tokens

    /// A list of names in parentheses.
    private mutating func names() -> [String]? {
        guard takes("(") else { return nil }
        var names: [String] = []
        repeat {
            guard let name = name() else { return nil }
            names.append(name)
        } while takes(",")
        return takes(")") ? names : nil
    }

    private mutating func name() -> String? {
        switch tokens.popFirst() {
        case .word(let name), .quoted(let name): name
        case .symbol, nil: nil
        }
    }

    private mutating func takes(_ text: StaticString) -> Bool {
        let isNext =
            switch tokens.first {
            case .word(let word): word == text.description
            case .symbol(let byte): text.utf8CodeUnitCount == 1 && text.utf8Start.pointee == byte
            case .quoted, nil: false
            }
        if isNext { tokens.removeFirst() }
        return isNext
    }
}
