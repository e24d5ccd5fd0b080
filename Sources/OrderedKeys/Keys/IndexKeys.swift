import Foundation
@_spi(Engines) import HabitStore

/// Computes the index keys of records and of their changes. Belongs to one transaction.
package final class IndexKeys {
    /// Builds the keys.
    private let buffer: IndexKeyBuffer
    /// Builds the keys of the replaced record, in addition to those of the new one.
    private lazy var oldKey = IndexKeyBuffer()

    /// - Parameter buffer: builds the keys.
    package init(_ buffer: IndexKeyBuffer) { self.buffer = buffer }

    /// Passes the keys of a record to `body`.
    ///
    /// - Parameter id: the bytes of its identifier.
    package func forEach(
        _ index: KeyIndex,
        _ record: RecordView,
        _ id: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard let links = try RecordLinks(index, record) else {
            try buffer.make(index.layout, record, id: id)
            return try body(buffer.key)
        }
        for place in 0..<links.count {
            try buffer.make(index.layout, record, link: links[place], id: id)
            try body(buffer.key)
        }
    }

    /// Passes the old and new keys of a replaced record to `remove` and `put`. Only keys that differ are passed on and, in an index
    /// with copies, the key of the copy.
    package func forEachChange(
        _ index: KeyIndex,
        _ record: RecordView,
        replacing old: RecordView,
        _ id: UnsafeRawBufferPointer,
        copies: Bool,
        remove: (UnsafeRawBufferPointer) throws -> Void,
        put: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let isUnchanged = try index.layout.parts.allSatisfy { part in
            try record.isNull(at: part.position) == old.isNull(at: part.position)
                && record.rawBytes(at: part.position).elementsEqual(old.rawBytes(at: part.position))
        }
        if isUnchanged, !copies { return }
        guard let links = try RecordLinks(index, record), let oldLinks = try RecordLinks(index, old) else {
            try buffer.make(index.layout, record, id: id)
            try oldKey.make(index.layout, old, id: id)
            // Texts that only differ after the truncation have the same key.
            let isMoved = !KeyOrder.areEqual(buffer.key, oldKey.key)
            guard isMoved || copies else { return }
            if isMoved { try remove(oldKey.key) }
            return try put(buffer.key)
        }
        var kept: Set<[UInt8]> = []
        for place in 0..<links.count {
            try buffer.make(index.layout, record, link: links[place], id: id)
            kept.insert(Array(buffer.key))
        }
        for place in 0..<oldLinks.count {
            try oldKey.make(index.layout, old, link: oldLinks[place], id: id)
            guard kept.remove(Array(oldKey.key)) == nil else { continue }
            try remove(oldKey.key)
        }
        for key in kept { try key.withUnsafeBytes(put) }
    }

    /// The keys of a batch of new records, in the records' order. In an index over links, a record has as many keys as links, and
    /// repeats the key of a repeated link.
    package func keys(_ index: KeyIndex, _ batch: RecordBatch) throws -> PackedBytes {
        let keys = PackedBytes()
        for place in 0..<batch.count {
            let (record, id) = (batch[place], batch.identifierBytes(at: place))
            guard let links = try RecordLinks(index, record) else {
                try buffer.make(index.layout, record, id: id)
                keys.append(buffer.key)
                continue
            }
            for link in 0..<links.count {
                try buffer.make(index.layout, record, link: links[link], id: id)
                keys.append(buffer.key)
            }
        }
        return keys
    }
}

/// The links of a record, each with a separate key in an index.
struct RecordLinks {
    private let bytes: UnsafeRawBufferPointer

    /// Nil if the index is not over links.
    @inline(__always)
    init?(_ index: KeyIndex, _ record: RecordView) throws {
        guard let position = index.layout.linksPosition else { return nil }
        bytes = try record.rawBytes(at: position)
        guard bytes.count % KeyFormat.identifierLength == 0 else {
            throw HabitStoreError.damage(
                "a record holds links that are not identifiers; run `\(OperatorCommand.name) check`"
            )
        }
    }

    var count: Int { bytes.count / KeyFormat.identifierLength }

    subscript(place: Int) -> UnsafeRawBufferPointer {
        let start = place * KeyFormat.identifierLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + KeyFormat.identifierLength])
    }
}

/// Builds index keys one after the other, in the same memory. See ``IndexKeyLayout`` for their form.
package final class IndexKeyBuffer {
    private let bytes: UnsafeMutableRawBufferPointer
    // A buffer belongs to one transaction, which fills and reads it alternately: checking each access would take as long as the
    // access.
    @exclusivity(unchecked) private var used = 0
    /// Whether a text in the key was truncated.
    @exclusivity(unchecked) package private(set) var isCut = false

    package init() {
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: KeyFormat.longestKey, alignment: 8)
    }

    deinit { bytes.deallocate() }

    /// The key so far, valid until the next change.
    package var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[0..<used]) }

    /// Builds the key of a record.
    ///
    /// - Parameters:
    ///   - link: the bytes of the link that the key is for, in an index over links.
    ///   - id: the bytes of the identifier.
    package func make(
        _ layout: IndexKeyLayout,
        _ record: RecordView,
        link: UnsafeRawBufferPointer? = nil,
        id: UnsafeRawBufferPointer
    ) throws {
        begin()
        for part in layout.parts {
            if part.kind == .links {
                try append(byte: 1)
                if let link { try append(link) }
            } else if record.isNull(at: part.position) {
                try append(byte: 0)
            } else {
                try append(byte: 1)
                try append(stored: record.rawBytes(at: part.position), as: part.kind, budget: layout.budget)
            }
        }
        try append(id)
    }

    /// Begins a key.
    package func begin() {
        used = 0
        isCut = false
    }

    /// Appends a value, without its presence byte; false if it is of another kind.
    package func append(_ value: Value, as kind: AttributeKind, budget: Int) throws -> Bool {
        switch (value, kind) {
        case (.bool(let flag), .bool): try append(byte: flag ? 1 : 0)
        case (.int(let number), .int): try append(bigEndian: Self.ordered(UInt64(bitPattern: number)))
        case (.double(let number), .double): try append(bigEndian: Self.ordered(doubleBits: number.bitPattern))
        case (.date(let date), .date):
            try append(bigEndian: Self.ordered(doubleBits: date.timeIntervalSinceReferenceDate.bitPattern))
        case (.uuid(let id), .uuid), (.uuid(let id), .links): try withUnsafeBytes(of: id.uuid) { try append($0) }
        case (.string(var text), .string):
            try text.withUTF8 { try append(text: UnsafeRawBufferPointer($0), budget: budget, isEnded: true) }
        case (.data(let data), .data):
            try data.withUnsafeBytes { try append(text: $0, budget: budget, isEnded: true) }
        default: return false
        }
        return true
    }

    /// Appends the start of a text, without a terminator.
    package func append(prefix text: String, budget: Int) throws {
        var text = text
        try text.withUTF8 { try append(text: UnsafeRawBufferPointer($0), budget: budget, isEnded: false) }
    }

    /// Appends a presence byte.
    package func append(byte: UInt8) throws {
        try requireRoom(1)
        bytes[used] = byte
        used += 1
    }

    /// Appends bytes unchanged.
    package func append(_ source: UnsafeRawBufferPointer) throws {
        try requireRoom(source.count)
        UnsafeMutableRawBufferPointer(rebasing: bytes[used..<used + source.count]).copyMemory(from: source)
        used += source.count
    }

    /// Appends an attribute in the form that a record stores.
    private func append(stored raw: UnsafeRawBufferPointer, as kind: AttributeKind, budget: Int) throws {
        switch kind {
        case .bool: try append(byte: raw[0] == 0 ? 0 : 1)
        case .int: try append(bigEndian: Self.ordered(UInt64(littleEndian: raw.loadUnaligned(as: UInt64.self))))
        case .double, .date:
            let bits = UInt64(littleEndian: raw.loadUnaligned(as: UInt64.self))
            try append(bigEndian: Self.ordered(doubleBits: bits))
        case .uuid: try append(raw)
        case .string, .data: try append(text: raw, budget: budget, isEnded: true)
        case .strings, .links:
            throw HabitStoreError(.internalInconsistency, "an index key was asked for an attribute that has none")
        }
    }

    private func append(bigEndian number: UInt64) throws {
        try requireRoom(8)
        bytes.storeBytes(of: number.bigEndian, toByteOffset: used, as: UInt64.self)
        used += 8
    }

    private func append(text source: UnsafeRawBufferPointer, budget: Int, isEnded: Bool) throws {
        try requireRoom(min(source.count, budget) + 2)
        let whole = min(source.count, budget)
        var isCut = false
        if !Self.hasZero(source, before: whole) {
            try append(UnsafeRawBufferPointer(rebasing: source[0..<whole]))
            isCut = source.count > budget
        } else {
            isCut = try appendEscaped(source, budget: budget)
        }
        self.isCut = self.isCut || isCut
        guard isEnded else { return }
        try append(byte: 0)
        try append(byte: isCut ? 1 : 0)
    }

    /// - Returns: whether the text was truncated.
    private func appendEscaped(_ source: UnsafeRawBufferPointer, budget: Int) throws -> Bool {
        let limit = used + budget
        try requireRoom(min(source.count * 2, budget) + 2)
        for byte in source {
            guard used + (byte == 0 ? 2 : 1) <= limit else { return true }
            bytes[used] = byte
            used += 1
            if byte == 0 {
                bytes[used] = 0xFF
                used += 1
            }
        }
        return false
    }

    /// The layout guarantees that keys fit; this checks it.
    @inline(__always)
    private func requireRoom(_ count: Int) throws {
        guard used + count <= bytes.count else {
            throw HabitStoreError(.internalInconsistency, "an index key is longer than its layout allows")
        }
    }

    private static func hasZero(_ source: UnsafeRawBufferPointer, before end: Int) -> Bool {
        guard end > 0, let start = source.baseAddress else { return false }
        return memchr(start, 0, end) != nil
    }

    private static func ordered(_ bits: UInt64) -> UInt64 { bits ^ (1 << 63) }

    private static func ordered(doubleBits bits: UInt64) -> UInt64 {
        // Both zeros are the same value.
        if bits == 1 << 63 { return 1 << 63 }
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }
}
