import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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

/// Answers about NFC texts from their UTF-8 alone.
///
/// In NFC, Characters are equal if their bytes are. So a text contains the Characters of another if it contains its bytes and both ends are
/// grapheme boundaries of the first: from a boundary on, Characters are separated only by what follows, so those in between are the same.
/// Below U+0300 there are no marks that extend the Character before them, none that bind the next one, and no letters that join: between two
/// such scalars is a boundary, except between CR and LF (Unicode Standard Annex 29). A lead byte below `CC` means a scalar below U+0300. If
/// a scalar from there on touches an end, bytes do not decide, and the answer is nil.
enum ByteText {
    /// The first lead byte of scalars from U+0300 on.
    static let firstOpenLead: UInt8 = 0xCC

    /// Whether bytes are the same.
    @inline(__always)
    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
        return memcmp(leftBase, rightBase, left.count) == 0
    }

    /// Order of the bytes: negative, 0 or positive like `memcmp`, a prefix first.
    @inline(__always)
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        if let leftBase = left.baseAddress, let rightBase = right.baseAddress {
            let result = memcmp(leftBase, rightBase, min(left.count, right.count))
            if result != 0 { return Int(result) }
        }
        return left.count &- right.count
    }

    /// Whether a place in a text, between two scalars, is a grapheme boundary; nil when bytes do not decide it.
    @inline(__always)
    static func isBoundary(_ text: UnsafeRawBufferPointer, _ place: Int) -> Bool? {
        guard place > 0, place < text.count else { return true }
        let (before, after) = (text[place &- 1], text[place])
        guard after < firstOpenLead else { return nil }
        if before < 0x80 { return !(before == 0x0D && after == 0x0A) }
        // A control character always forms a separate Character.
        if after < 0x20 || after == 0x7F { return true }
        let lead = place >= 2 ? text[place &- 2] : 0
        return lead >= 0xC0 && lead < firstOpenLead ? true : nil
    }

    /// Whether the Characters of `part` occur in a text.
    static func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool? {
        if part.isEmpty { return true }
        var isDecided = true
        var start = 0
        while let place = find(part, in: text, from: start) {
            let (before, after) = (isBoundary(text, place), isBoundary(text, place &+ part.count))
            if before == true, after == true { return true }
            if before != false, after != false { isDecided = false }
            start = place &+ 1
        }
        return isDecided ? false : nil
    }

    /// The first place from `start` on at which the bytes of `part` stand, which are not none. Eight places are looked at
    /// together: where the first and the last byte fit, the others are compared.
    @inline(__always)
    static func find(_ part: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = text.baseAddress, let partBase = part.baseAddress else { return nil }
        let last = part.count &- 1
        let end = text.count &- last
        let firstBytes = UInt64(part[0]) &* 0x0101_0101_0101_0101
        let lastBytes = UInt64(part[last]) &* 0x0101_0101_0101_0101
        var place = start
        while place &+ 8 <= end {
            let differences =
                (UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self)) ^ firstBytes)
                | (UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place &+ last, as: UInt64.self)) ^ lastBytes)
            // The high bit of each zero byte, and perhaps of some that follow one.
            var fits = (differences &- 0x0101_0101_0101_0101) & ~differences & 0x8080_8080_8080_8080
            while fits != 0 {
                let found = place &+ fits.trailingZeroBitCount &>> 3
                if memcmp(base + found, partBase, part.count) == 0 { return found }
                fits &= fits &- 1
            }
            place &+= 8
        }
        while place < end {
            if text[place] == part[0], memcmp(base + place, partBase, part.count) == 0 { return place }
            place &+= 1
        }
        return nil
    }

    /// Whether a text begins with the Characters of `part`.
    static func begins(_ text: UnsafeRawBufferPointer, with part: UnsafeRawBufferPointer) -> Bool? {
        guard part.count <= text.count else { return false }
        guard areEqual(UnsafeRawBufferPointer(rebasing: text[..<part.count]), part) else { return false }
        return part.isEmpty ? true : isBoundary(text, part.count)
    }

    /// Whether a text ends with the Characters of `part`.
    static func ends(_ text: UnsafeRawBufferPointer, with part: UnsafeRawBufferPointer) -> Bool? {
        guard part.count <= text.count else { return false }
        let place = text.count &- part.count
        guard areEqual(UnsafeRawBufferPointer(rebasing: text[place...]), part) else { return false }
        return part.isEmpty ? true : isBoundary(text, place)
    }

    /// The number of Characters.
    static func length(_ text: UnsafeRawBufferPointer) -> Int? {
        var length = 0
        var before: UInt8 = 0
        for byte in text {
            if byte >= firstOpenLead { return nil }
            // Bytes that continue a scalar, and the LF of a CR LF, begin no Character.
            if byte & 0xC0 != 0x80, !(byte == 0x0A && before == 0x0D) { length &+= 1 }
            before = byte
        }
        return length
    }

    /// The text; U+FFFD replaces invalid UTF-8.
    static func string(_ text: UnsafeRawBufferPointer) -> String { String(decoding: text, as: UTF8.self) }
}
