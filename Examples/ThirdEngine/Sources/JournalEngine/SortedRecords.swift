import Foundation
@_spi(Engines) import HabitStore

/// The records of an entity in the order of their identifiers, in chunks: a change copies one chunk instead of all records.
struct SortedRecords: Sendable {
    private struct Chunk: Sendable {
        var ids: [UUID]
        var records: [EncodedRecord]
    }

    /// A larger chunk is split.
    private static let chunkLimit = 256

    private var chunks: [Chunk] = []
    private(set) var count = 0

    /// The record of an identifier; nil removes it.
    subscript(id: UUID) -> EncodedRecord? {
        get {
            guard let place = place(of: id), place.isTaken else { return nil }
            return chunks[place.chunk].records[place.index]
        }
        set {
            if let newValue { put(id, newValue) } else { remove(id) }
        }
    }

    /// Calls `body` with the records from an identifier on, ascending, until it returns false.
    func forEach(from first: UUID, _ body: (UUID, EncodedRecord) throws -> Bool) rethrows {
        guard let start = place(of: first) else { return }
        var index = start.index
        for chunk in chunks[start.chunk...] {
            while index < chunk.ids.count {
                guard try body(chunk.ids[index], chunk.records[index]) else { return }
                index += 1
            }
            index = 0
        }
    }

    private mutating func put(_ id: UUID, _ record: EncodedRecord) {
        guard let place = place(of: id) else {
            chunks = [Chunk(ids: [id], records: [record])]
            count = 1
            return
        }
        guard !place.isTaken else {
            chunks[place.chunk].records[place.index] = record
            return
        }
        chunks[place.chunk].ids.insert(id, at: place.index)
        chunks[place.chunk].records.insert(record, at: place.index)
        count += 1
        if chunks[place.chunk].ids.count > Self.chunkLimit { divide(place.chunk) }
    }

    private mutating func divide(_ place: Int) {
        let chunk = chunks[place]
        let half = chunk.ids.count / 2
        chunks[place] = Chunk(ids: Array(chunk.ids[..<half]), records: Array(chunk.records[..<half]))
        let rest = Chunk(ids: Array(chunk.ids[half...]), records: Array(chunk.records[half...]))
        chunks.insert(rest, at: place + 1)
    }

    private mutating func remove(_ id: UUID) {
        guard let place = place(of: id), place.isTaken else { return }
        chunks[place.chunk].ids.remove(at: place.index)
        chunks[place.chunk].records.remove(at: place.index)
        count -= 1
        if chunks[place.chunk].ids.isEmpty { chunks.remove(at: place.chunk) }
    }

    /// The place of an identifier, or where it would be inserted; nil if there are no records.
    private func place(of id: UUID) -> (chunk: Int, index: Int, isTaken: Bool)? {
        guard !chunks.isEmpty else { return nil }
        // The last chunk that does not begin after it; no chunk is empty.
        let chunk = max(0, chunks.firstPlace { id.isBefore($0.ids[0]) } - 1)
        let ids = chunks[chunk].ids
        let index = ids.firstPlace { !$0.isBefore(id) }
        return (chunk, index, index < ids.count && ids[index] == id)
    }
}

extension Array {
    /// The first index at which a condition is true; it must be true from there on.
    func firstPlace(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
