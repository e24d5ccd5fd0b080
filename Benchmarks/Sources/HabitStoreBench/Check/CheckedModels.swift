import Foundation
@_spi(Engines) import HabitStore

/// The same model twice: written out, and made by the macro. What the macro makes may cost no more.
enum CheckedModels {
    /// What the names of works end in that are done with the macro's model; those of the other are without it.
    static let made = ", by @Model"
    private static let subject = "of 12 attributes"
    private static let count = 1_000

    /// Whether a work is one of these.
    static func isOne(_ name: String) -> Bool { name.contains(subject) }

    static func works(_ engine: TableEngine, _ directory: URL) throws -> [CheckedWork] {
        let day = Date(timeIntervalSinceReferenceDate: 0)
        let written = (0..<count).map { number in
            WrittenSession(
                id: identifier(number),
                code: "code \(number)",
                title: "Session \(number % 10)",
                startedAt: day + Double(number),
                endedAt: number.isMultiple(of: 2) ? day : nil,
                repetitions: number,
                weight: number.isMultiple(of: 3) ? 72.5 : nil,
                note: number.isMultiple(of: 4) ? "rain all along" : nil,
                feeling: .bad,
                words: ["a", "b"]
            )
        }
        let made = written.map { session in
            MadeSession(
                id: session.id,
                code: session.code,
                title: session.title,
                startedAt: session.startedAt,
                endedAt: session.endedAt,
                repetitions: session.repetitions,
                weight: session.weight,
                note: session.note,
                feeling: session.feeling,
                words: session.words
            )
        }
        let writtenSchema = Schema([WrittenSession.self, WrittenOwner.self])
        let madeSchema = Schema([MadeSession.self, MadeOwner.self])
        return try works(engine, directory, written, writtenSchema, "")
            + works(engine, directory, made, madeSchema, Self.made)
    }

    private static func works<M: PersistentModel>(
        _ engine: TableEngine,
        _ directory: URL,
        _ models: [M],
        _ schema: Schema,
        _ suffix: String
    ) throws -> [CheckedWork] {
        let folder = directory.appendingPathComponent("models-\(engine.rawValue)-\(M.self)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try engine.open(folder.appendingPathComponent("read").path, schema: schema)
        try store.write(author: "bench") { transaction in
            for model in models { try transaction.insert(model) }
        }
        var empty: (any EngineBackedStore)?
        var loading = CheckedWork(
            name: "\(engine.rawValue): load \(subject), a record\(suffix)",
            operations: count
        ) {
            try empty?.write(author: "bench") { transaction in
                for model in models { try transaction.insert(model) }
            }
        }
        loading.prepare = {
            empty = try engine.open(folder.appendingPathComponent("loaded-\(UUID())").path, schema: schema)
        }
        let scan = CheckedWork(name: "\(engine.rawValue): scan \(subject), a record\(suffix)", operations: count) {
            _ = try store.all(M.self)
        }
        return [scan, loading]
    }

    private static func identifier(_ number: Int) -> UUID {
        let (high, low) = (UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number))
        return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, high, low))
    }
}
