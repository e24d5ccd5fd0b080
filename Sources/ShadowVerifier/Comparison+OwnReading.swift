@_spi(Engines) import HabitStore

extension Comparison {
    /// Holds what each store's own transactions read against what its file holds: a mistake in how rows become records
    /// is made alike by whatever carried the records across.
    ///
    /// - Returns: the number of records compared.
    mutating func compareOwnReading(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        var compared = 0
        for (transaction, store) in [(transactions.a, (stores.a.name, "A")), (transactions.b, (stores.b.name, "B"))] {
            guard let audited = transaction as? any AuditableTransaction else {
                report.notCompared.append("own reading: \(store.0) has no reader other than its own")
                continue
            }
            for (position, entity) in schema.entities.enumerated() {
                let own = OwnReading(transaction, entity: entity.name, in: .all)
                let file = try audited.auditCursor(entity: position, in: .all)
                compared += try compare(own, file, entity, store)
                try tell(progress)
            }
        }
        return compared
    }

    private mutating func compare(
        _ own: OwnReading,
        _ file: any AuditCursor,
        _ entity: EntityDescription,
        _ store: (name: String, letter: String)
    ) throws -> Int {
        var compared = 0
        while try file.next() {
            compared += 1
            guard try own.next(), own.identifier == file.identifier else {
                note(
                    StoreDifference(
                        .reading,
                        "\(store.name): a transaction does not find \(entity.name) \(file.identifier.uuidString) in its place, "
                            + "which is in the file",
                        entity: entity.name,
                        id: file.identifier,
                        subject: store.letter
                    )
                )
                return compared
            }
            guard !own.canonical.elementsEqual(file.canonical) else { continue }
            var readers = (CanonicalReader(own.canonical), CanonicalReader(file.canonical))
            for attribute in entity.attributes {
                guard let first = try readers.0.next(), let second = try readers.1.next(),
                    !first.isIdentical(to: second)
                else { continue }
                note(
                    StoreDifference(
                        .reading,
                        "\(store.name): a transaction reads \(attribute.name) of \(entity.name) \(file.identifier.uuidString) "
                            + "otherwise than the file has it",
                        entity: entity.name,
                        id: file.identifier,
                        attribute: attribute.name,
                        subject: store.letter
                    )
                )
            }
        }
        if try own.next() {
            note(
                StoreDifference(
                    .reading,
                    "\(store.name): a transaction finds \(entity.name) \(own.identifier.uuidString), which is not in the file",
                    entity: entity.name,
                    id: own.identifier,
                    subject: store.letter
                )
            )
        }
        return compared
    }
}
