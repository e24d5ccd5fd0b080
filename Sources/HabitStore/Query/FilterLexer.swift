import Foundation

/// A word of a filter text.
struct FilterToken: Equatable {
    enum Kind: Equatable {
        case name(String)
        case escapedName(String)
        case variable(Int)
        case text(String)
        case whole(Int64)
        case decimal(Double)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// Where it begins, in characters from 1.
    let column: Int
}

/// Cuts a filter text into words.
///
/// It reads scalar by scalar: as a Character, a quotation mark would melt into a combining mark that follows it in a
/// user's text. Columns are counted in Characters, as people count.
struct FilterLexer {
    /// The highest number that a variable may have.
    static let maximumVariable = 999

    private let scalars: [Unicode.Scalar]
    /// The column of each scalar.
    private let columns: [Int]
    private var position = 0

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
        columns = text.enumerated().flatMap { index, character in
            repeatElement(index + 1, count: character.unicodeScalars.count)
        }
    }

    static func tokens(_ text: String) throws -> [FilterToken] {
        guard text.utf8.count <= FilterParser.maximumBytes else {
            throw HabitStoreError(.limitExceeded, "a filter may have \(FilterParser.maximumBytes) bytes at most")
        }
        var lexer = FilterLexer(text)
        var tokens: [FilterToken] = []
        repeat { tokens.append(try lexer.next(after: tokens.last?.kind)) } while tokens.last?.kind != .end
        return tokens
    }

    private func column(at position: Int) -> Int {
        position < columns.count ? columns[position] : (columns.last ?? 0) + 1
    }

    private mutating func next(after previous: FilterToken.Kind?) throws -> FilterToken {
        while position < scalars.count, scalars[position].properties.isWhitespace { position += 1 }
        let column = column(at: position)
        guard position < scalars.count else { return FilterToken(kind: .end, column: column) }
        let scalar = scalars[position]
        let kind: FilterToken.Kind
        if scalar == "\"" || scalar == "'" {
            kind = .text(try quoted(scalar, column))
        } else if scalar == "`" {
            kind = .escapedName(try quoted(scalar, column))
        } else if scalar.isASCIIDigit || isSign(scalar, after: previous) {
            kind = try number(column)
        } else if scalar == "$" {
            position += 1
            guard let number = Int(take { $0.isASCIIDigit }), number <= Self.maximumVariable else {
                throw FilterParser.failure("a variable is written as $0, $1, … up to $\(Self.maximumVariable)", column)
            }
            kind = .variable(number)
        } else if scalar.beginsName {
            kind = .name(take { $0.continuesName })
        } else {
            kind = .symbol(try symbol(column))
        }
        return FilterToken(kind: kind, column: column)
    }

    /// A minus belongs to the number after it, unless there is something before it to subtract from.
    private func isSign(_ scalar: Unicode.Scalar, after previous: FilterToken.Kind?) -> Bool {
        guard scalar == "-", peek(1)?.isASCIIDigit == true else { return false }
        switch previous {
        case nil, .end: return true
        case .text, .whole, .decimal, .escapedName, .variable: return false
        case .name(let name): return FilterParser.isKeyword(name)
        case .symbol(let symbol): return ![")", "]", "}"].contains(symbol)
        }
    }

    private func peek(_ distance: Int) -> Unicode.Scalar? {
        position + distance < scalars.count ? scalars[position + distance] : nil
    }

    private mutating func take(_ belongs: (Unicode.Scalar) -> Bool) -> String {
        let start = position
        while position < scalars.count, belongs(scalars[position]) { position += 1 }
        return string(start..<position)
    }

    private func string(_ range: Range<Int>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[range])
        return String(text)
    }

    private mutating func symbol(_ column: Int) throws -> String {
        for symbol in ["==", "!=", "<=", ">=", "&&", "||", "[cd]", "[c]"] where matches(symbol) {
            position += symbol.unicodeScalars.count
            return symbol
        }
        let single = String(scalars[position])
        guard "=<>!()[]{},.+-*/%".unicodeScalars.contains(scalars[position]) else {
            throw FilterParser.failure("the character \(single.quotedForFilter) has no meaning here", column)
        }
        position += 1
        return single
    }

    private func matches(_ symbol: String) -> Bool {
        symbol.unicodeScalars.enumerated().allSatisfy { offset, scalar in
            peek(offset)?.properties.lowercaseMapping == String(scalar)
        }
    }

    private mutating func number(_ column: Int) throws -> FilterToken.Kind {
        var text = String(scalars[position])
        position += 1
        text += take { $0.isASCIIDigit }
        if peek(0) == ".", peek(1)?.isASCIIDigit == true {
            position += 1
            text += "." + take { $0.isASCIIDigit }
        }
        if let mark = peek(0), mark == "e" || mark == "E" {
            position += 1
            text += "e"
            if let sign = peek(0), sign == "-" || sign == "+" {
                text.unicodeScalars.append(sign)
                position += 1
            }
            text += take { $0.isASCIIDigit }
        }
        if let whole = Int64(text) { return .whole(whole) }
        guard let decimal = Double(text), decimal.isFinite else {
            throw FilterParser.failure("this is not a number that can be stored", column)
        }
        return .decimal(decimal)
    }

    private mutating func quoted(_ quote: Unicode.Scalar, _ column: Int) throws -> String {
        position += 1
        var text = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            if scalar == quote { return String(text) }
            guard scalar == "\\", quote != "`" else {
                text.append(scalar)
                continue
            }
            guard position < scalars.count else { break }
            text.append(try escape())
        }
        throw FilterParser.failure("the quote that begins here is not closed", column)
    }

    private mutating func escape() throws -> Unicode.Scalar {
        let column = column(at: position - 1)
        let scalar = scalars[position]
        position += 1
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "\"": return "\""
        case "'": return "'"
        case "\\": return "\\"
        case "u":
            let digits = string(position..<min(position + 4, scalars.count))
            guard digits.unicodeScalars.count == 4, digits.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit),
                let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code)
            else { throw FilterParser.failure("\\u needs the four hexadecimal digits of a character", column) }
            position += 4
            return scalar
        default: throw FilterParser.failure("there is no escape of this kind; write \\\\ for a backslash", column)
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }

    /// Whether a name that needs no backquotes can begin with it.
    var beginsName: Bool { self == "_" || properties.isAlphabetic }

    /// Whether it can continue a name without backquotes.
    var continuesName: Bool {
        beginsName || properties.numericType != nil || properties.canonicalCombiningClass != .notReordered
    }
}
