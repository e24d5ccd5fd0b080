import Foundation

@_spi(Engines) extension EngineBackedStore {
    /// Holds the digests that the store keeps against its records, as they are in the file.
    public func checkDigests() throws -> [StoreFinding] {
        try core.engine.read { snapshot in
            try core.requireUnmigrated(snapshot)
            var findings: [StoreFinding] = []
            let kept = try schema.entities.indices.map { try snapshot.digestLeaves(entity: $0) }
            for (leaves, entity) in zip(kept, schema.entities)
            where leaves.map({ !DigestLeaf.divideAll($0) }) ?? kept.contains(where: { $0 != nil }) {
                findings.append(
                    StoreFinding(
                        .damage,
                        "digestMissing",
                        "the kept digests of \(entity.name) do not cover all identifiers, each once: the file was changed past "
                            + "the store's transactions, or damaged",
                        entity: entity.name
                    )
                )
            }
            for (position, entity) in schema.entities.enumerated() {
                guard let leaves = kept[position] else { continue }
                var tally = DigestTally(leaves)
                let cursor = try snapshot.auditCursor(entity: position, in: .all)
                while try cursor.next() { tally.add(cursor) }
                tally.finish()
                findings += tally.deviations.map { finding($0, entity) }
            }
            return findings
        }
    }

    private func finding(_ deviation: DigestTally.Deviation, _ entity: EntityDescription) -> StoreFinding {
        let range = deviation.leaf.range
        return StoreFinding(
            .damage,
            "digestDeviates",
            "\(deviation.leaf.digest.count) \(entity.name) records were written from \(range.first.uuidString) to "
                + "\(range.last.uuidString), and those found there (\(deviation.found.count)) are not the same: the file was "
                + "changed past the store's transactions, or damaged",
            entity: entity.name,
            id: range.first
        )
    }

    /// Rebuilds the store's digests from its records, once these are known to be intact.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if the records cannot be read; the digests are unchanged then.
    public func rebuildDigests() throws {
        try core.engine.write { writer in
            try core.requireUnmigrated(writer)
            for entity in schema.entities.indices { try writer.removeDigestLeaves(entity: entity) }
            try DigestLedger(writer, schema).begin()
        }
    }
}
