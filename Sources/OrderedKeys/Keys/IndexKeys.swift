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
