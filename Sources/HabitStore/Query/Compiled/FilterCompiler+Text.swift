import Foundation

extension FilterCompiler {
    /// A test of text, or whether a list holds an element.
    mutating func textTest(
        _ test: FilterExpression.TextTest,
        _ text: BoundExpression,
        _ part: BoundExpression,
        _ scope: Scope
    ) -> FilterTest {
        switch (text.kind, part) {
        case (.string, .literal(.string(let part))):
            return characterTest(test, bytes(text, scope), OwnedBuffer(Array(part.utf8)), part)
        case (.strings, .literal(.string(let part))):
            guard test == .contains, let place = place(text, scope) else { break }
            let element = OwnedBuffer(Array(part.utf8))
            return { try place.list($0, holds: element.bytes) }
        case (.links, .literal(.uuid(let id))):
            guard test == .contains, let place = place(text, scope) else { break }
            let (link, scratch) = (IdentifierKey(id), FilterScratch())
            return { rows in
                guard let links = try place.links(rows, scratch), let first = links.baseAddress else { return false }
                var offset = 0
                while offset < links.count {
                    if IdentifierKey(first + offset) == link { return true }
                    offset &+= 16
                }
                return false
            }
        case (.string, _) where part.kind == .string:
            return characterTest(test, bytes(text, scope), bytes(part, scope))
        default: break
        }
        let (text, part) = (value(text, scope), value(part, scope))
        return { test.holds(try text($0), try part($0)) }
    }

    /// A test with a constant: by bytes, and by Characters where bytes do not decide.
    private func characterTest(
        _ test: FilterExpression.TextTest,
        _ text: @escaping FilterBytes,
        _ part: OwnedBuffer<UInt8>,
        _ characters: String
    ) -> FilterTest {
        switch test {
        case .contains:
            return { rows in
                guard let text = try text(rows) else { return false }
                return ByteText.contains(text, part.bytes)
                    ?? test.holds(ByteText.string(text), characters)
            }
        case .beginsWith:
            return { rows in
                guard let text = try text(rows) else { return false }
                return ByteText.begins(text, with: part.bytes)
                    ?? test.holds(ByteText.string(text), characters)
            }
        case .endsWith:
            return { rows in
                guard let text = try text(rows) else { return false }
                return ByteText.ends(text, with: part.bytes)
                    ?? test.holds(ByteText.string(text), characters)
            }
        case .searches:
            return { rows in
                guard let text = try text(rows) else { return false }
                return test.holds(ByteText.string(text), characters)
            }
        }
    }

    private func characterTest(
        _ test: FilterExpression.TextTest,
        _ text: @escaping FilterBytes,
        _ part: @escaping FilterBytes
    ) -> FilterTest {
        { rows in
            let (text, part) = (try text(rows), try part(rows))
            guard let text, let part else { return false }
            let decided: Bool?
            switch test {
            case .contains: decided = ByteText.contains(text, part)
            case .beginsWith: decided = ByteText.begins(text, with: part)
            case .endsWith: decided = ByteText.ends(text, with: part)
            case .searches: decided = nil
            }
            return decided ?? test.holds(ByteText.string(text), ByteText.string(part))
        }
    }

    // MARK: Lengths

    /// The number of Characters, texts, links or bytes.
    mutating func length(_ measured: BoundExpression, _ scope: Scope) -> FilterInt {
        switch measured.kind {
        case .string:
            let text = bytes(measured, scope)
            return { try text($0).map(Self.length) }
        case .data:
            let data = bytes(measured, scope)
            return { try data($0).map { Int64($0.count) } }
        case .links:
            guard let place = place(measured, scope) else { break }
            let scratch = FilterScratch()
            return { try place.links($0, scratch).map { Int64($0.count / 16) } }
        default: break
        }
        let value = value(measured, scope)
        return { try value($0).length.wholeNumber }
    }

    /// Whether a length is in a range. Between none and as many Characters as bytes, nothing is counted where that decides.
    mutating func length(_ measured: BoundExpression, isIn range: FilterRange<Int64>, _ scope: Scope) -> FilterTest {
        guard measured.kind == .string else {
            let length = length(measured, scope)
            return { range.holds(try length($0)) }
        }
        let text = bytes(measured, scope)
        return { rows in
            guard let text = try text(rows) else { return range.isInverted }
            let most = Int64(text.count)
            if most == 0 { return range.holds(0) }
            if range.least <= 1, range.greatest >= most { return !range.isInverted }
            if range.least > most || range.greatest < 1 { return range.isInverted }
            return range.holds(Self.length(text))
        }
    }

    private static func length(_ text: UnsafeRawBufferPointer) -> Int64 {
        Int64(ByteText.length(text) ?? ByteText.string(text).count)
    }
}
