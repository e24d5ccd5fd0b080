import Foundation

/// The records of a live query, in order: an array that is cheap to keep. Consecutive answers share all but a few hundred elements, so an
/// old one that a list on the screen is still drawn from costs nothing.
public struct LiveRecords<Element: Sendable>: RandomAccessCollection, Sendable {
    /// A record's position, kept next to its element.
    struct Row: Sendable {
        let id: UUID
        /// The values of the order's keys, but for the identifier.
        let keys: [Value]
        let element: Element
    }

    /// Rows by columns: places are searched for, and identifiers gone through, without a look at the elements.
    private struct Columns: Sendable {
        var ids: ContiguousArray<UUID> = []
        var keys: ContiguousArray<[Value]> = []
        var elements: ContiguousArray<Element> = []

        var count: Int { ids.count }

        subscript(place: Int) -> Row { Row(id: ids[place], keys: keys[place], element: elements[place]) }

        subscript(places: Range<Int>) -> Self {
            Self(
                ids: ContiguousArray(ids[places]),
                keys: ContiguousArray(keys[places]),
                elements: ContiguousArray(elements[places])
            )
        }

        mutating func reserveCapacity(_ count: Int) {
            ids.reserveCapacity(count)
            keys.reserveCapacity(count)
            elements.reserveCapacity(count)
        }

        mutating func append(_ row: Row) {
            ids.append(row.id)
            keys.append(row.keys)
            elements.append(row.element)
        }

        mutating func insert(_ row: Row, at place: Int) {
            ids.insert(row.id, at: place)
            keys.insert(row.keys, at: place)
            elements.insert(row.element, at: place)
        }

        mutating func remove(at place: Int) {
            ids.remove(at: place)
            keys.remove(at: place)
            elements.remove(at: place)
        }

        mutating func append(contentsOf others: Self) {
            ids += others.ids
            keys += others.keys
            elements += others.elements
        }
    }

    private final class Chunk: Sendable {
        let rows: Columns

        init(_ rows: Columns) { self.rows = rows }
    }

    /// How many rows are copied for one that is put in, at most.
    private static var mostInChunk: Int { 128 }

    private var chunks: [Chunk] = []
    /// The place of each chunk's first row, and the count at the end.
    private var starts = [0]

    init(_ rows: some Sequence<Row>) {
        let most = Self.mostInChunk * 3 / 4
        var chunk = Columns()
        for row in rows {
            if chunk.count == 0 { chunk.reserveCapacity(most) }
            chunk.append(row)
            guard chunk.count == most else { continue }
            chunks.append(Chunk(chunk))
            chunk = Columns()
        }
        if chunk.count > 0 { chunks.append(Chunk(chunk)) }
        restart(from: 0)
    }

    /// 0.
    public var startIndex: Int { 0 }

    /// How many there are.
    public var endIndex: Int { starts[starts.count - 1] }

    /// The record at a place.
    public subscript(place: Int) -> Element {
        precondition(indices.contains(place), "there is no record at this place")
        let (chunk, offset) = locate(place)
        return chunks[chunk].rows.elements[offset]
    }

    func row(_ place: Int) -> Row {
        precondition(indices.contains(place), "there is no record at this place")
        let (chunk, offset) = locate(place)
        return chunks[chunk].rows[offset]
    }

    /// Hands out the place and the identifier of each record, in order.
    func enumerateIdentifiers(_ body: (Int, UUID) -> Void) {
        for (chunk, start) in zip(chunks, starts) {
            for (offset, id) in chunk.rows.ids.enumerated() { body(start + offset, id) }
        }
    }

    /// Where a record with these keys stands, or would stand.
    func place(of id: UUID, _ keys: [Value], _ order: LiveOrder) -> Int {
        let chunk = chunks.indices.partitioningIndex { number in
            let rows = chunks[number].rows
            return !order.isBefore((rows.keys[rows.count - 1], rows.ids[rows.count - 1]), (keys, id))
        }
        guard chunk < chunks.count else { return endIndex }
        let rows = chunks[chunk].rows
        return starts[chunk] + order.place(of: (keys, id), among: rows.keys, rows.ids)
    }

    mutating func insert(_ row: Row, at place: Int) {
        guard !chunks.isEmpty else {
            self = Self(CollectionOfOne(row))
            return
        }
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows.insert(row, at: offset)
        if rows.count > Self.mostInChunk {
            let half = rows.count / 2
            chunks[chunk] = Chunk(rows[0..<half])
            chunks.insert(Chunk(rows[half..<rows.count]), at: chunk + 1)
        } else {
            chunks[chunk] = Chunk(rows)
        }
        restart(from: chunk)
    }

    mutating func remove(at place: Int) {
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows.remove(at: offset)
        let next = chunk + 1 < chunks.count ? chunks[chunk + 1].rows : nil
        if rows.count == 0 {
            chunks.remove(at: chunk)
        } else if let next, rows.count < Self.mostInChunk / 4, rows.count + next.count <= Self.mostInChunk {
            rows.append(contentsOf: next)
            chunks.replaceSubrange(chunk...chunk + 1, with: [Chunk(rows)])
        } else {
            chunks[chunk] = Chunk(rows)
        }
        restart(from: chunk)
    }

    /// Gives the record at a place other contents, by which it does not stand elsewhere.
    mutating func replace(at place: Int, with element: Element) {
        let (chunk, offset) = locate(place)
        var rows = chunks[chunk].rows
        rows.elements[offset] = element
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

/// The records that a live query holds, in its order: its window and a reserve, or all of them.
struct LiveAnswer<Element: Sendable>: Sendable {
    typealias Row = LiveRecords<Element>.Row

    /// How many records are kept after the window, so that a record leaving it does not repeat the query: as many as are in it, within
    /// these bounds.
    private static var reserve: ClosedRange<Int> { 4...32 }

    private(set) var records: LiveRecords<Element>
    /// Whether no record fulfils the filter that is not kept.
    private var isComplete: Bool
    /// The keys of each record; empty where the order is that of the identifiers, which finds them.
    private var keys: [UUID: [Value]] = [:]
    private let order: LiveOrder
    private let window: FetchWindow

    /// The window of a query whose answer will be patched.
    static func window(kept wanted: FetchWindow) -> FetchWindow {
        // Of a fetch that wants nothing, nothing is evaluated.
        guard !wanted.isEmpty else { return wanted }
        return FetchWindow(offset: 0, limit: wanted.end.map { $0 + reserve(of: $0) })
    }

    private static func reserve(of end: Int) -> Int {
        end > .max - reserve.upperBound ? 0 : min(max(reserve.lowerBound, end), reserve.upperBound)
    }

    /// - Parameter rows: the first of the order; all of them unless they are as many as were asked for.
    init(_ rows: [Row], _ order: LiveOrder, _ window: FetchWindow) {
        (self.order, self.window) = (order, window)
        records = LiveRecords(rows)
        isComplete = Self.window(kept: window).limit.map { rows.count < $0 } ?? true
        guard !order.kept.isEmpty else { return }
        keys.reserveCapacity(rows.count)
        for row in rows { keys[row.id] = row.keys }
    }

    /// Whether records of the window may be missing, so that the query has to be asked again.
    var isShort: Bool {
        guard !isComplete, !LiveMutant.isPlanted(.neverShort) else { return false }
        return window.end.map { records.count < $0 } ?? false
    }

    /// The part that is wanted.
    var wanted: LiveRecords<Element> {
        guard !window.isWhole else { return records }
        let places = records.indices.dropFirst(LiveMutant.isPlanted(.lostOffset) ? 0 : window.offset)
        return LiveRecords(places.prefix(window.limit ?? .max).lazy.map(records.row))
    }

    /// The keys under which a record is kept; nil where it is not.
    func keys(of id: UUID) -> [Value]? {
        guard order.kept.isEmpty else { return keys[id] }
        let place = place(id, [])
        return place < records.count && records.row(place).id == id ? [] : nil
    }

    /// Puts a record where it belongs, whether or not it was there.
    mutating func put(_ row: Row) {
        let before = keys(of: row.id)
        if let before, before == row.keys {
            return LiveMutant.isPlanted(.staleContents)
                ? () : records.replace(at: place(row.id, before), with: row.element)
        }
        if before != nil { remove(row.id) }
        let place = LiveMutant.isPlanted(.putLast) ? records.count : place(row.id, row.keys)
        // Behind the last one that is kept there may be others, before it.
        guard isComplete || place < records.count || LiveMutant.isPlanted(.alwaysComplete) else { return }
        records.insert(row, at: place)
        if !order.kept.isEmpty { keys[row.id] = row.keys }
        cut()
    }

    /// Takes a record away, if it is there.
    mutating func remove(_ id: UUID) {
        guard let before = keys(of: id) else { return }
        records.remove(at: place(id, before))
        keys[id] = nil
    }

    private func place(_ id: UUID, _ keys: [Value]) -> Int {
        records.place(of: id, keys, order)
    }

    /// Drops records that have moved far past the window.
    private mutating func cut() {
        guard let most = Self.window(kept: window).limit, records.count > most + Self.reserve.upperBound else { return }
        while records.count > most {
            let last = records.row(records.count - 1).id
            records.remove(at: records.count - 1)
            keys[last] = nil
        }
        isComplete = false
    }
}

/// The total order of a live query, over what its rows keep of their records.
struct LiveOrder: Sendable {
    private let order: [BoundQuery.SortKey]
    /// The attributes whose values a row keeps: those of the order up to the identifier, which decides every tie.
    let kept: [Int]

    init(_ order: [BoundQuery.SortKey]) {
        self.order = order
        kept = order.prefix { $0.position != 0 }.map(\.position)
    }

    /// The values that a row keeps of a record.
    func keys(of row: borrowing AttributeReader) throws -> [Value] {
        guard !kept.isEmpty else { return [] }
        return try kept.map { try row.value(at: $0) }
    }

    /// Where a record stands, or would stand, among others that are in order.
    func place(
        of record: (keys: [Value], id: UUID),
        among keys: ContiguousArray<[Value]>,
        _ ids: ContiguousArray<UUID>
    ) -> Int {
        ids.indices.partitioningIndex { !isBefore((keys[$0], ids[$0]), record) }
    }

    /// Whether one record stands before another one.
    func isBefore(_ left: (keys: [Value], id: UUID), _ right: (keys: [Value], id: UUID)) -> Bool {
        for (place, key) in order.enumerated() {
            guard place < kept.count else {
                let result = left.id.order(comparedWith: right.id)
                return result != 0 && (result < 0) == key.ascending
            }
            let result = left.keys[place].order(comparedWith: right.keys[place])
            if result != 0 {
                return (result < 0) == (key.ascending || place == 0 && LiveMutant.isPlanted(.lostDirection))
            }
        }
        return false
    }
}
