import Foundation
@_spi(Engines) import HabitStore

/// The way back, rehearsed on copies of a user's stores.
struct Rehearsal {
    private let original: StorePair
    private let folder: UserDirectory
    private let pair: StorePair
    private let actual: ActualStage

    /// Copies both stores next to the user's, replacing copies that a killed process left. The caller holds the lock of the user's rehearsals.
    init(_ original: StorePair, _ actual: ActualStage, schema: Schema) throws {
        self.original = original
        try Leftovers.remove(Leftovers.rehearsals, in: original.directory, original.known)
        folder = try original.directory.inRoot(Leftovers.rehearsals.folder(in: original.directory))
        try folder.make()
        try folder.takeMachine(of: original.directory)
        self.actual = actual
        let copies = try original.known.copied(as: Leftovers.rehearsals.copies[0], by: original.directory)
        pair = StorePair(directory: folder, schema: schema, engines: copies)
        do {
            // The following store first: copied last, it would be ahead if a write came in between.
            for engine in [actual.other, actual.engine] {
                let copy = copies.address(engine, of: folder)
                // An engine may keep the copy outside the folder, which the cleanup above removed with its contents.
                try copies.discard(copy)
                try original.store(engine).backup(to: copy.path)
            }
        } catch {
            remove()
            throw error
        }
    }

    /// Moves to `live`, writes, pulls the kill switch, and checks that the old store is authoritative, current and equal to the new one.
    ///
    /// - Parameter verify: compares the two stores; throws if they differ.
    /// - Throws: what went wrong.
    func run(_ verify: (any UserStoreBackend, any UserStoreBackend) throws -> Void) throws {
        let control = try ControlFile(path: folder.path + "/control")
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: 60)
        guard var there = try change.settle(actual.state.engines) else {
            throw HabitStoreError(.internalInconsistency, "the copies of the stores are gone")
        }
        if there.stage < .live { there = try change.move(there, to: .live) }
        try write(there)
        let back = try change.kill(there)
        let (old, new) = (actual.state.engines.old, actual.state.engines.new)
        let standings = (try pair.standing(old), try pair.standing(new))
        guard back.engine == old, standings.0?.role == .authoritative, standings.0?.token == standings.1?.token else {
            throw HabitStoreError(
                .internalInconsistency,
                "after the way back the \(old.rawValue) store is not current"
            )
        }
        try verify(try pair.store(old), try pair.store(new))
    }

    /// Makes a write as `live` does, and undoes it.
    private func write(_ there: ActualStage) throws {
        guard there.stage.awaitsMirror else { return }
        let first = try pair.store(there.other)
        // If a unique value is taken, try another sample. A schema that gives no sample is rehearsed without a write.
        for number in 0..<Self.mostSamples {
            guard let sample = try pair.schema.sampleModel(number: Int.random(in: 0..<1_000_000) + number) else {
                return
            }
            do {
                return try write(sample, there, first)
            } catch let error as HabitStoreError where error.code == .uniqueViolation {
                continue
            }
        }
    }

    private static let mostSamples = 20

    private func write<M: PersistentModel>(_ sample: M, _ there: ActualStage, _ first: any UserStoreBackend) throws {
        for step in 0..<2 {
            let terms = WriteTerms(
                epoch: there.epoch,
                willCommit: { replica, transaction in
                    guard transaction != nil else { return }
                    try first.replicate { old in
                        let (origin, information) = (try replica.information(), try old.information())
                        _ = try Replication.carry(from: replica, origin, to: old, information, schema: pair.schema)
                    }
                }
            )
            try pair.store(there.engine).write(author: "rehearsal", under: terms) { transaction in
                if step == 0 { try transaction.insert(sample) } else { try transaction.delete(sample) }
            }
        }
    }

    /// Removes the copies. The next rehearsal removes what cannot be removed now.
    func remove() {
        pair.close()
        try? Leftovers.remove(Leftovers.rehearsals, in: original.directory, original.known)
    }
}
