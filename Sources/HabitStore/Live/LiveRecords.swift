import Foundation

/// What a live query answers, in order: an array that is cheap to keep. Two that follow one another share all but a few
/// hundred of their elements, so that an old one, which a list on the screen is still drawn from, costs nothing.
public struct LiveRecords<Element: Sendable>: RandomAccessCollection, Sendable {
    /// What is known of a record beside what is answered: where its place is.
    struct Row: Sendable {
        let id: UUID
        /// The values of the order's keys, but for the identifier.
        let keys: [Value]
        let element: Element
    }

    private final class Chunk: Sendable {
        let rows: ContiguousArray<Row>

        init(_ rows: ContiguousArray<Row>) { self.rows = rows }
    }

    /// How many rows are copied for one that is put in, at most.
    private static var mostInChunk: Int { 512 }

    private var chunks: [Chunk] = []
    /// The place of each chunk's first row, and the count at the end.
    private var starts = [0]

    init(_ rows: some Sequence<Row>) {
        var chunk = ContiguousArray<Row>()
        for row in rows {
            chunk.append(row)
            guard chunk.count == Self.mostInChunk * 3 / 4 else { continue }
            chunks.append(Chunk(chunk))
            chunk = []
        }
        if !chunk.isEmpty { chunks.append(Chunk(chunk)) }
        restart(from: 0)
    }

    /// 0.
    public var startIndex: Int { 0 }

    /// How many there are.
    public var endIndex: Int { starts[starts.count - 1] }

    /// The record at a place.
    public subscript(place: Int) -> Element { row(place).element }

    func row(_ place: Int) -> Row {
        precondition(indices.contains(place), "there is no record at this place")
        let (chunk, offset) = locate(place)
        return chunks[chunk].rows[offset]
    }

    /// The rows, chunk after chunk, which takes less than one after the other.
    var rows: some Sequence<Row> { chunks.lazy.flatMap(\.rows) }

    /// Where a record with these keys stands, or would stand.
    func place(of id: UUID, _ keys: [Value], _ order: LiveOrder) -> Int {
        func isBehind(_ row: Row) -> Bool { !order.isBefore((row.keys, row.id), (keys, id)) }
        let chunk = chunks.partitioningIndex { $0.rows.last.map(isBehind) ?? false }
        guard chunk < chunks.count else { return endIndex }
        return starts[chunk] + chunks[chunk].rows.partitioningIndex(isBehind)
    }

    mutating func insert(_ row: Row, at place: Int) {
        guard !chunks.isEmpty else {
            chunks = [Chunk([row])]
            return restart(from: 0)
        }
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows.insert(row, at: offset)
        if rows.count > Self.mostInChunk {
            let half = rows.count / 2
            chunks[chunk] = Chunk(ContiguousArray(rows[..<half]))
            chunks.insert(Chunk(ContiguousArray(rows[half...])), at: chunk + 1)
        } else {
            chunks[chunk] = Chunk(rows)
        }
        restart(from: chunk)
    }

    mutating func remove(at place: Int) {
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows.remove(at: offset)
        let next = chunk + 1 < chunks.count ? chunks[chunk + 1].rows : []
        if rows.isEmpty {
            chunks.remove(at: chunk)
        } else if rows.count < Self.mostInChunk / 4, !next.isEmpty, rows.count + next.count <= Self.mostInChunk {
            chunks.replaceSubrange(chunk...chunk + 1, with: [Chunk(rows + next)])
        } else {
            chunks[chunk] = Chunk(rows)
        }
        restart(from: chunk)
    }

    mutating func replace(at place: Int, with row: Row) {
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows[offset] = row
        chunks[chunk] = Chunk(rows)
    }

    /// The chunk with a place, and where in it; for the end, the end of the last one.
    private func locate(_ place: Int) -> (chunk: Int, offset: Int) {
        let chunk = Swift.max(0, starts.dropLast().partitioningIndex { $0 > place } - 1)
        return (chunk, place - starts[chunk])
    }

    private mutating func restart(from chunk: Int) {
        starts.removeSubrange((chunk + 1)...)
        for place in chunk..<chunks.count { starts.append(starts[place] + chunks[place].rows.count) }
    }
}

extension LiveRecords: Equatable where Element: Equatable {
    /// Whether both have the same records in the same order.
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }
}
