import Foundation

extension FilterCompiler {
    /// Whether one of the related records fulfils a condition.
    mutating func some(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterTest {
        count(collection, inner, isIn: FilterRange(.greaterOrEqual, 1), stopsEarly: true, scope)
    }

    /// Whether all related records fulfil a condition.
    mutating func every(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterTest {
        if inner.isAlwaysTrue { return { _ in true } }
        guard let members = members(collection, scope) else { return { _ in true } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { try members.forEach($0, test) }
    }

    /// How many related records fulfil a condition.
    mutating func count(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterInt {
        guard let members = members(collection, scope) else { return { _ in 0 } }
        if inner.isAlwaysTrue { return { try members.count($0, limit: nil) } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { rows in
            var count: Int64 = 0
            _ = try members.forEach(rows) { rows in
                if try test(rows) { count &+= 1 }
                return true
            }
            return count
        }
    }

    /// Whether as many related records fulfil a condition as a range lets through. It stops once that is decided, unless
    /// looking at the others may fail.
    mutating func count(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        isIn range: FilterRange<Int64>,
        _ scope: Scope
    ) -> FilterTest {
        count(collection, inner, isIn: range, stopsEarly: !inner.canFail, scope)
    }

    private mutating func count(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        isIn range: FilterRange<Int64>,
        stopsEarly: Bool,
        _ scope: Scope
    ) -> FilterTest {
        guard let members = members(collection, scope) else {
            let holds = range.holds(0)
            return { _ in holds }
        }
        // So many decide: there are too many, or enough where there cannot be too many.
        let deciding =
            range.greatest == .max ? max(0, range.least) : max(0, range.greatest.addingReportingOverflow(1).0)
        let limit = stopsEarly ? Int(deciding) : nil
        if inner.isAlwaysTrue { return { range.holds(try members.count($0, limit: limit)) } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { rows in
            var count: Int64 = 0
            if limit != 0 {
                _ = try members.forEach(rows) { rows in
                    if try test(rows) { count &+= 1 }
                    return !stopsEarly || count < deciding
                }
            }
            return range.holds(count)
        }
    }

    private mutating func members(_ collection: BoundCollection, _ scope: Scope) -> RelatedMembers? {
        guard let (source, entity) = source(collection.path, scope) else { return nil }
        var links: AttributePlace?
        var reference = 0
        switch collection.storage {
        case .linked(let attribute):
            links = AttributePlace(source, position: attribute, entity: schema.entities[entity])
        case .referring(let attribute), .linking(let attribute): reference = attribute
        }
        return RelatedMembers(
            source: source,
            links: links,
            reference: reference,
            destination: collection.destination,
            slot: addSlot(),
            records: records
        )
    }
}

extension FilterCompiler.Scope {
    /// The scope of a condition on a collection's members.
    fileprivate func adding(_ collection: BoundCollection, _ slot: Int) -> FilterCompiler.Scope {
        var scope = self
        scope[collection.variable] = FilterCompiler.BoundVariable(slot: slot, entity: collection.destination)
        return scope
    }
}

/// The related records of a compiled collection condition.
final class RelatedMembers {
    /// The slot in which each of them is lent.
    let slot: Int
    private let source: RecordSource
    private let links: AttributePlace?
    private let reference: Int
    private let destination: Int
    private let records: any RelatedRecords
    private let scratch = FilterScratch()

    /// - Parameters:
    ///   - source: the record whose related records are meant.
    ///   - links: the attribute of that record that leads to them; nil when they lead to it, by `reference`.
    ///   - reference: the position of their reference or links.
    ///   - destination: their entity.
    ///   - slot: where each of them is lent.
    ///   - records: follows relationships.
    init(
        source: RecordSource,
        links: AttributePlace?,
        reference: Int,
        destination: Int,
        slot: Int,
        records: any RelatedRecords
    ) {
        self.source = source
        self.links = links
        self.reference = reference
        self.destination = destination
        self.slot = slot
        self.records = records
    }

    /// How many there are; no more than `limit` are counted. Links may lead nowhere, so they are followed; what refers to
    /// a record is there.
    func count(_ rows: FilterRows, limit: Int?) throws -> Int64 {
        if limit == 0 { return 0 }
        guard links != nil else { return try Int64(identifiers(rows, limit: limit).count) }
        var count = 0
        _ = try forEach(rows) { _ in
            count &+= 1
            return limit.map { count < $0 } ?? true
        }
        return Int64(count)
    }

    /// Calls `body` for each, in the order of identifiers, until it returns false.
    ///
    /// - Returns: whether all calls returned true.
    func forEach(_ rows: FilterRows, _ body: FilterTest) throws -> Bool {
        guard let links else {
            for id in try identifiers(rows, limit: nil) where try !visit(id, rows, body) { return false }
            return true
        }
        guard let ids = try links.links(rows, scratch), let first = ids.baseAddress else { return true }
        var offset = 0
        while offset < ids.count {
            guard try visit(IdentifierKey(first + offset).id, rows, body) else { return false }
            offset &+= 16
        }
        return true
    }

    private func identifiers(_ rows: FilterRows, limit: Int?) throws -> [UUID] {
        guard let owner = try source.reader(rows)?.pointee.identifier() else { return [] }
        return try records.identifiers(entity: destination, attribute: reference, referringTo: owner, limit: limit)
    }

    private func visit(_ id: UUID, _ rows: FilterRows, _ body: FilterTest) throws -> Bool {
        var goesOn = true
        _ = try records.withRelated(entity: destination, id: id) { record in
            goesOn = try withUnsafePointer(to: &record) { reader in
                rows[slot] = reader
                return try body(rows)
            }
        }
        return goesOn
    }
}

extension FilterCompiler {
    /// Membership in constants, by the kind of the member.
    mutating func membership(_ member: BoundExpression, _ values: [Value], _ scope: Scope) -> FilterTest {
        let hasNull = values.contains(.null)
        switch member.kind {
        case .int, .bool:
            let numbers = OwnedBuffer(values.compactMap(\.wholeNumber))
            return membership(int(member, scope), numbers, hasNull: hasNull)
        case .double, .date:
            let numbers = OwnedBuffer(values.compactMap(\.doubleOrSeconds).filter { !$0.isNaN })
            return membership(double(member, scope), numbers, hasNull: hasNull)
        case .uuid:
            let keys = values.compactMap { value -> IdentifierKey? in
                if case .uuid(let id) = value { return IdentifierKey(id) }
                return nil
            }
            return membership(identifier(member, scope), OwnedBuffer(keys), hasNull: hasNull)
        case .string, .data:
            return membership(bytes(member, scope), values.compactMap(\.constantBytes), hasNull: hasNull)
        case .strings, .links, nil:
            let member = value(member, scope)
            return { values.contains(try member($0)) }
        }
    }

    private func membership(_ member: @escaping FilterInt, _ keys: OwnedBuffer<Int64>, hasNull: Bool) -> FilterTest {
        let table = ProbeTable(
            (0..<keys.count).map { ProbeTable.mix(UInt64(bitPattern: keys.base[$0])) }
        )
        return { rows in
            guard let number = try member(rows) else { return hasNull }
            return table.contains(ProbeTable.mix(UInt64(bitPattern: number))) { keys.base[$0] == number }
        }
    }

    private func membership(
        _ member: @escaping FilterDouble,
        _ keys: OwnedBuffer<Double>,
        hasNull: Bool
    ) -> FilterTest {
        let table = ProbeTable((0..<keys.count).map { Self.hash(keys.base[$0]) })
        return { rows in
            guard let number = try member(rows) else { return hasNull }
            return table.contains(Self.hash(number)) { keys.base[$0] == number }
        }
    }

    /// The hash of a double; 0 and -0 are equal.
    private static func hash(_ number: Double) -> UInt64 {
        ProbeTable.mix(number == 0 ? 0 : number.bitPattern)
    }

    private func membership(
        _ member: @escaping FilterIdentifier,
        _ keys: OwnedBuffer<IdentifierKey>,
        hasNull: Bool
    ) -> FilterTest {
        let table = ProbeTable((0..<keys.count).map { keys.base[$0].hash })
        return { rows in
            guard let id = try member(rows) else { return hasNull }
            return table.contains(id.hash) { keys.base[$0] == id }
        }
    }

    private func membership(
        _ member: @escaping FilterBytes,
        _ keys: [OwnedBuffer<UInt8>],
        hasNull: Bool
    ) -> FilterTest {
        // All constants in one buffer, so that finding one counts no reference.
        let bytes = OwnedBuffer(keys.flatMap { Array($0.bytes) })
        let ends = OwnedBuffer(keys.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) })
        let table = ProbeTable(keys.map { ProbeTable.hash($0.bytes) })
        return { rows in
            guard let member = try member(rows) else { return hasNull }
            return table.contains(ProbeTable.hash(member)) { key in
                let start = ends.base[key]
                let constant = UnsafeRawBufferPointer(start: bytes.base + start, count: ends.base[key &+ 1] &- start)
                return ByteText.areEqual(member, constant)
            }
        }
    }
}

/// A hash table over the positions of keys stored elsewhere. It never grows: half of it is empty.
final class ProbeTable {
    private let places: OwnedBuffer<Int32>
    private let mask: Int

    /// A table over keys with these hashes.
    init(_ hashes: [UInt64]) {
        var size = 4
        while size < hashes.count * 2 { size *= 2 }
        mask = size - 1
        places = OwnedBuffer(repeatElement(Int32(-1), count: size))
        for (key, hash) in hashes.enumerated() {
            var place = Int(truncatingIfNeeded: hash) & mask
            while places.base[place] >= 0 { place = (place &+ 1) & mask }
            places.base[place] = Int32(truncatingIfNeeded: key)
        }
    }

    /// Whether one of the keys of a hash is the one looked for.
    @inline(__always)
    func contains(_ hash: UInt64, where isKey: (Int) -> Bool) -> Bool {
        var place = Int(truncatingIfNeeded: hash) & mask
        while true {
            let key = Int(places.base[place])
            if key < 0 { return false }
            if isKey(key) { return true }
            place = (place &+ 1) & mask
        }
    }

    /// Spreads a word over all bits: the finaliser of SplitMix64 (https://prng.di.unimi.it/splitmix64.c).
    @inline(__always)
    static func mix(_ word: UInt64) -> UInt64 {
        var result = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }

    /// The hash of bytes.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var result = UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while offset &+ 8 <= bytes.count {
            result = mix(result ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        var rest: UInt64 = 0
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset &+= 1
        }
        return mix(result ^ rest)
    }
}

/// An identifier as two words, compared and hashed without a call into Foundation.
struct IdentifierKey: BitwiseCopyable, Equatable {
    /// The first eight bytes, as they lie.
    let first: UInt64
    /// The other eight.
    let second: UInt64

    /// The identifier at an address, at which there must be sixteen bytes.
    @inline(__always)
    init(_ address: UnsafeRawPointer) {
        first = address.loadUnaligned(as: UInt64.self)
        second = address.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    init(_ id: UUID) {
        (first, second) = withUnsafeBytes(of: id.uuid) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// The identifier of zeros.
    static let zero = IdentifierKey(first: 0, second: 0)

    /// The identifier.
    var id: UUID {
        withUnsafeBytes(of: (first, second)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// A number of which every bit depends on every byte.
    var hash: UInt64 {
        @inline(__always) get { ProbeTable.mix(first ^ ProbeTable.mix(second)) }
    }

    /// Byte order: negative, 0 or positive like `memcmp`.
    @inline(__always)
    func order(comparedWith other: IdentifierKey) -> Int {
        if first != other.first { return first.bigEndian < other.first.bigEndian ? -1 : 1 }
        return second == other.second ? 0 : (second.bigEndian < other.second.bigEndian ? -1 : 1)
    }
}
