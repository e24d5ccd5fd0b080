import Foundation

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
