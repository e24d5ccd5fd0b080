import Foundation

/// Encoded records of one entity that are stored together, in the order in which they were given.
@_spi(Engines) public final class RecordBatch {
    /// The bytes and records at which a batch is written, so that a load of any size takes bounded memory. Larger batches are
    /// faster, because each is sorted separately.
    static let fullAtBytes = 16 << 20
    static let fullAtCount = 1 << 18

    private let layout: RecordLayout
    private let records = PackedBytes(capacity: 1 << 14)
    private let identifierPlace: Range<Int>
    private var sorted: [Int]?

    init(_ layout: RecordLayout) {
        self.layout = layout
        identifierPlace = layout.firstSlot..<layout.firstSlot + 16
    }

    /// The number of records.
    public var count: Int { records.count }

    /// Whether there are none.
    public var isEmpty: Bool { records.count == 0 }

    var isFull: Bool { records.byteCount >= Self.fullAtBytes || records.count >= Self.fullAtCount }

    /// A record; valid until the batch changes.
    public subscript(place: Int) -> RecordView { RecordView(trusting: records[place], layout: layout) }

    /// The bytes of a record's identifier.
    public func identifierBytes(at place: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: records[place][identifierPlace])
    }

    /// A record's identifier.
    public func identifier(at place: Int) -> UUID {
        identifierBytes(at: place).loadUnaligned(as: UUID.self)
    }

    /// The places of the records in the order of their identifiers.
    public var placesByIdentifier: [Int] {
        if let sorted { return sorted }
        let places = records.sortedPlaces(by: identifierPlace)
        sorted = places
        return places
    }

    /// The first record whose identifier another one before it has; nil when all differ.
    var firstRepeated: Int? {
        let places = placesByIdentifier
        var first: Int?
        for index in places.indices.dropFirst()
        where identifierBytes(at: places[index]).elementsEqual(identifierBytes(at: places[index - 1])) {
            first = min(first ?? Int.max, places[index])
        }
        return first
    }

    func append(_ record: RecordView) {
        records.append(record.bytes)
        sorted = nil
    }

    func removeAll() {
        records.removeAll()
        sorted = nil
    }
}

/// A record of a transaction: its entity and its identifier.
///
/// It stands outside of the generic transactions that use it: sets and sorts of a type inside of one are not specialised.
struct RecordKey: Hashable {
    let entity: Int
    let id: UUID

    static func == (left: RecordKey, right: RecordKey) -> Bool {
        left.entity == right.entity && left.id.words == right.id.words
    }

    func hash(into hasher: inout Hasher) {
        let (high, low) = id.words
        hasher.combine(entity)
        hasher.combine(high)
        hasher.combine(low)
    }
}

/// Byte sequences one after the other in one buffer: many records or keys without an allocation for each.
package final class PackedBytes {
    // Belongs to one transaction, which fills and reads it in turn: what Swift would check at each access takes as long as the
    // access.
    @exclusivity(unchecked) private var start: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var capacity: Int
    /// Where each run begins, and at last where the next one will. No array: reading one counts references.
    @exclusivity(unchecked) private var bounds: UnsafeMutablePointer<Int>
    @exclusivity(unchecked) private var boundsCapacity = 256
    /// The number of runs.
    @exclusivity(unchecked) package private(set) var count = 0

    /// Creates an empty buffer.
    ///
    /// - Parameter capacity: the initial size in bytes.
    package init(capacity: Int = 1 << 12) {
        self.capacity = max(64, capacity)
        start = .allocate(byteCount: self.capacity, alignment: 16)
        bounds = .allocate(capacity: boundsCapacity)
        bounds[0] = 0
    }

    deinit {
        start.deallocate()
        bounds.deallocate()
    }

    /// The bytes of all runs.
    package var byteCount: Int { bounds[count] }

    /// A run; valid until the next change.
    package subscript(place: Int) -> UnsafeRawBufferPointer {
        precondition(place >= 0 && place < count, "there is no such run")
        return UnsafeRawBufferPointer(start: start + bounds[place], count: bounds[place &+ 1] &- bounds[place])
    }

    /// Appends a run.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        let (used, end) = (byteCount, byteCount + bytes.count)
        if end > capacity { grow(to: end) }
        if count + 2 > boundsCapacity { growBounds() }
        if let source = bytes.baseAddress { (start + used).copyMemory(from: source, byteCount: bytes.count) }
        count &+= 1
        bounds[count] = end
    }

    private func growBounds() {
        let grown = UnsafeMutablePointer<Int>.allocate(capacity: boundsCapacity * 2)
        grown.update(from: bounds, count: count + 1)
        bounds.deallocate()
        (bounds, boundsCapacity) = (grown, boundsCapacity * 2)
    }

    private func grow(to end: Int) {
        let larger = max(capacity * 2, end)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        grown.copyMemory(from: start, byteCount: byteCount)
        start.deallocate()
        (start, capacity) = (grown, larger)
    }

    /// Forgets all runs, and keeps the memory for others.
    package func removeAll() {
        count = 0
    }

    /// The places of the runs in the order of their bytes, as `memcmp` has it; of equal runs the earlier one first.
    ///
    /// - Parameter part: where in each run the bytes lie that are compared; nil for all of it.
    package func sortedPlaces(by part: Range<Int>? = nil) -> [Int] {
        var items = (0..<count).map { PackedOrder.Item(word: 0, place: $0) }
        var spare = items
        items.withUnsafeMutableBufferPointer { items in
            spare.withUnsafeMutableBufferPointer { spare in
                let order = PackedOrder(spare) { place in
                    let run = self[place]
                    guard let part else { return run }
                    return UnsafeRawBufferPointer(rebasing: run[part.clamped(to: 0..<run.count)])
                }
                order.sort(items, from: 0)
            }
        }
        return items.map(\.place)
    }
}

/// Sorts runs of bytes eight bytes at a time, so that most comparisons are one of two numbers that lie side by side.
private struct PackedOrder {
    struct Item {
        /// Eight bytes of the run, as a number of the same order.
        var word: UInt64
        let place: Int
    }

    private let run: (Int) -> UnsafeRawBufferPointer
    /// Room for as many items as there are.
    private let spare: UnsafeMutableBufferPointer<Item>
    /// Up to so many runs that begin alike are compared whole.
    private static let few = 8
    /// Up to so many numbers are compared with one another, and more are distributed by their bytes.
    private static let some = 64

    init(_ spare: UnsafeMutableBufferPointer<Item>, _ run: @escaping (Int) -> UnsafeRawBufferPointer) {
        (self.spare, self.run) = (spare, run)
    }

    /// Sorts items whose runs are equal before an offset.
    func sort(_ unsorted: UnsafeMutableBufferPointer<Item>, from first: Int) {
        var items = unsorted
        var offset = first
        var areAllEqual = true
        repeat {
            guard items.count > Self.few else { return items.sort { isBefore($0, $1, offset) } }
            areAllEqual = true
            var isAnyLonger = false
            for index in items.indices {
                let run = run(items[index].place)
                items[index].word = Self.word(run, offset)
                areAllEqual = areAllEqual && items[index].word == items[0].word
                isAnyLonger = isAnyLonger || run.count > offset
            }
            // Items without remaining bytes are equal except for trailing zeros, which differ in length.
            guard isAnyLonger else { return items.sort { isBefore($0, $1, first) } }
            if areAllEqual { offset += 8 }
        } while areAllEqual
        sortByWord(items)
        var low = 0
        while low < items.count {
            var high = low + 1
            while high < items.count, items[high].word == items[low].word { high += 1 }
            if high > low + 1 { sort(UnsafeMutableBufferPointer(rebasing: items[low..<high]), from: offset + 8) }
            low = high
        }
    }

    /// Sorts by the words; what has the same stays in its order.
    private func sortByWord(_ items: UnsafeMutableBufferPointer<Item>) {
        var differing: UInt64 = 0
        var isSorted = true
        for index in items.indices.dropFirst() {
            differing |= items[index].word ^ items[0].word
            isSorted = isSorted && items[index - 1].word <= items[index].word
        }
        if isSorted { return }
        guard items.count > Self.some else {
            var items = items
            return items.sort { (left: Item, right: Item) -> Bool in
                left.word == right.word ? left.place < right.place : left.word < right.word
            }
        }
        for shift in stride(from: UInt64(0), to: 64, by: 8) where differing &>> shift & 0xFF != 0 {
            distribute(items, by: shift)
        }
    }

    /// One pass of a stable distribution sort, by one byte of the words.
    private func distribute(_ items: UnsafeMutableBufferPointer<Item>, by shift: UInt64) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { next in
            next.initialize(repeating: 0)
            for item in items { next[Int(truncatingIfNeeded: item.word &>> shift & 0xFF)] &+= 1 }
            var first = 0
            for byte in 0..<256 { (next[byte], first) = (first, first &+ next[byte]) }
            for item in items {
                let byte = Int(truncatingIfNeeded: item.word &>> shift & 0xFF)
                spare[next[byte]] = item
                next[byte] &+= 1
            }
        }
        for index in items.indices { items[index] = spare[index] }
    }

    /// The eight bytes at an offset; zeros where the run has ended.
    private static func word(_ run: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        if offset &+ 8 <= run.count {
            return UInt64(bigEndian: run.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var word: UInt64 = 0
        for place in offset..<offset + 8 { word = word << 8 | (place < run.count ? UInt64(run[place]) : 0) }
        return word
    }

    private func isBefore(_ left: Item, _ right: Item, _ offset: Int) -> Bool {
        let (one, other) = (run(left.place), run(right.place))
        var place = min(offset, one.count, other.count)
        while place < one.count, place < other.count {
            if one[place] != other[place] { return one[place] < other[place] }
            place += 1
        }
        return one.count == other.count ? left.place < right.place : one.count < other.count
    }
}

extension RandomAccessCollection {
    /// The first position at which `isBehind` holds; it must hold from there on.
    package func partitioningIndex(_ isBehind: (Element) throws -> Bool) rethrows -> Index {
        var low = startIndex
        var left = count
        while left > 0 {
            let middle = index(low, offsetBy: left / 2)
            if try isBehind(self[middle]) {
                left /= 2
            } else {
                low = index(after: middle)
                left -= left / 2 + 1
            }
        }
        return low
    }
}
