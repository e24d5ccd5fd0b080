import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// A transaction as a value, to run it in two stores.
struct RandomTransaction: CustomStringConvertible {
    /// A record's type and identifier.
    typealias Named = (type: any PersistentModel.Type, id: UUID)

    enum Operation {
        case insert(any PersistentModel)
        case save(any PersistentModel)
        /// Saves the record's state from before the transaction, which an app may still hold.
        case saveAgain(any PersistentModel.Type, UUID)
        case delete(any PersistentModel.Type, UUID)
        case deleteWhere(any PersistentModel.Type, FilterExpression)
        /// Throws the caller's own error.
        case abandon
    }

    struct Step {
        let operation: Operation
        /// Whether the transaction catches the operation's error and continues.
        let isCaught: Bool
    }

    let steps: [Step]

    var count: Int { steps.count }

    var description: String { steps.map { "\($0.operation)\($0.isCaught ? " caught" : "")" }.joined(separator: "; ") }

    /// Runs the transaction.
    ///
    /// - Returns: the answer of each operation.
    func perform(in store: some EngineBackedStore, author: String?) throws -> [String] {
        let models = try store.read { transaction in try steps.map { try held($0.operation, transaction) } }
        return try store.write(author: author) { transaction in
            try zip(steps, models).map { step, held in
                guard step.isCaught else { return try perform(step.operation, held, transaction) }
                return "\(Answer { try perform(step.operation, held, transaction) })"
            }
        }
    }

    private func held(_ operation: Operation, _ transaction: any ReadTransaction) throws -> (any PersistentModel)? {
        guard case .saveAgain(let type, let id) = operation else { return nil }
        func model<M: PersistentModel>(_ type: M.Type) throws -> (any PersistentModel)? {
            try transaction.model(type, id: id)
        }
        return try model(type)
    }

    private func perform(
        _ operation: Operation,
        _ held: (any PersistentModel)?,
        _ transaction: any WriteTransaction
    ) throws -> String {
        switch operation {
        case .saveAgain:
            guard let held else { return "not there" }
            try transaction.save(held)
        case .insert(let model): try transaction.insert(model)
        case .save(let model): try transaction.save(model)
        case .delete(let type, let id): return "\(try transaction.delete(type, id: id))"
        case .deleteWhere(let type, let filter): return "\(try delete(type, filter, transaction))"
        case .abandon: throw StoreContract.Abandoned()
        }
        return "done"
    }

    private func delete<M: PersistentModel>(
        _ type: M.Type,
        _ filter: FilterExpression,
        _ transaction: any WriteTransaction
    ) throws -> Int {
        try transaction.delete(FetchDescriptor<M>(filter: filter))
    }
}

/// The identifiers in the stores, as far as random operations need them.
struct Population {
    private(set) var habits: [UUID] = []
    private(set) var entries: [UUID] = []
    private(set) var tags: [UUID] = []
    private(set) var drafts: [UUID] = []
    /// The references between records.
    private var links: [(holder: RandomTransaction.Named, target: RandomTransaction.Named)] = []

    /// The approximate number of records to keep of each entity.
    private static let wanted: (habits: Int, entries: Int, tags: Int, drafts: Int) = (30, 60, 12, 20)

    /// An empty population.
    init() {}

    /// The population that a transaction reads.
    init(_ transaction: any ReadTransaction) throws {
        habits = try transaction.fetchIdentifiers(FetchDescriptor<Habit>())
        entries = try transaction.fetchIdentifiers(FetchDescriptor<Entry>())
        tags = try transaction.fetchIdentifiers(FetchDescriptor<Tag>())
        drafts = try transaction.fetchIdentifiers(FetchDescriptor<Draft>())
        links = try transaction.all(Entry.self).compactMap { entry in
            entry.habitID.map { ((Entry.self, entry.id), (Habit.self, $0)) }
        }
        links += try transaction.all(Habit.self).flatMap { habit in
            habit.tagIDs.sorted { $0.isBefore($1) }.map { ((Habit.self, habit.id), (Tag.self, $0)) }
        }
    }

    /// A random transaction.
    func transaction(_ generator: inout SeededGenerator) -> RandomTransaction {
        let count = generator.chance(60) ? 1 : generator.int(2...6)
        var steps: [RandomTransaction.Step] = []
        for _ in 0..<count {
            steps.append(.init(operation: operation(&generator), isCaught: generator.chance(15)))
        }
        if generator.chance(6) {
            let related = savedAgain(&generator).map { RandomTransaction.Step(operation: $0, isCaught: false) }
            let place = generator.int(0...steps.count)
            steps.insert(contentsOf: related, at: place)
        }
        if generator.chance(3) { steps.append(.init(operation: .abandon, isCaught: false)) }
        return RandomTransaction(steps: steps)
    }

    /// Deletes the target of a reference, and perhaps its holder, and then saves the holder again, and perhaps the target.
    private func savedAgain(_ generator: inout SeededGenerator) -> [RandomTransaction.Operation] {
        guard let link = generator.pickAny(links) else { return [] }
        var operations: [RandomTransaction.Operation] = [
            .delete(link.target.type, link.target.id), .saveAgain(link.holder.type, link.holder.id),
        ]
        if generator.chance(20) { operations.append(.saveAgain(link.target.type, link.target.id)) }
        if generator.chance(20) { operations.insert(.delete(link.holder.type, link.holder.id), at: 0) }
        if generator.chance(20) { operations.reverse() }
        return operations
    }

    private func operation(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        switch generator.int(0...99) {
        case 0..<30: return habitOperation(&generator)
        case 30..<70: return entryOperation(&generator)
        case 70..<82: return tagOperation(&generator)
        case 82..<95: return draftOperation(&generator)
        default: return deletionByFilter(&generator)
        }
    }

    /// Inserts a new record, or saves or deletes an old one, so that the number of records stays near `wanted`.
    private func operation<M: PersistentModel>(
        _ generator: inout SeededGenerator,
        _ ids: [UUID],
        wanted: Int,
        make: (UUID, inout SeededGenerator) -> M
    ) -> RandomTransaction.Operation {
        let old = generator.pickAny(ids)
        if let old, generator.chance(ids.count > wanted ? 45 : 8) { return .delete(M.self, old) }
        if let old, generator.chance(ids.count > wanted / 2 ? 50 : 10) {
            let model = make(old, &generator)
            return generator.chance(5) ? .insert(model) : .save(model)
        }
        if generator.chance(3) { return .delete(M.self, EdgeValues.id(&generator)) }
        let model = make(EdgeValues.id(&generator), &generator)
        return generator.chance(50) ? .insert(model) : .save(model)
    }

    private func habitOperation(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        operation(&generator, habits, wanted: Self.wanted.habits) { id, generator in
            var links = Set((0..<generator.int(0...3)).compactMap { _ in generator.pickAny(tags) })
            if generator.chance(2) { links.insert(EdgeValues.id(&generator)) }
            return Habit(
                id: id,
                name: EdgeValues.text(&generator),
                createdAt: EdgeValues.date(&generator),
                streak: EdgeValues.int(&generator),
                category: generator.chance(40) ? nil : EdgeValues.text(&generator),
                isArchived: generator.chance(30),
                timesPerPeriod: generator.int(1...4),
                periodDays: generator.int(1...7),
                unit: generator.chance(50) ? nil : EdgeValues.text(&generator),
                target: generator.chance(50) ? nil : (generator.chance(2) ? .nan : EdgeValues.double(&generator)),
                tagIDs: links
            )
        }
    }

    private func entryOperation(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        operation(&generator, entries, wanted: Self.wanted.entries) { id, generator in
            var habit = generator.chance(20) ? nil : generator.pickAny(habits)
            if generator.chance(2) { habit = EdgeValues.id(&generator) }
            return Entry(
                id: id,
                date: EdgeValues.date(&generator),
                note: generator.chance(40) ? nil : EdgeValues.text(&generator),
                value: generator.chance(40) ? nil : EdgeValues.double(&generator),
                habitID: habit
            )
        }
    }

    private func tagOperation(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        operation(&generator, tags, wanted: Self.wanted.tags) { id, generator in
            Tag(id: id, name: EdgeValues.text(&generator))
        }
    }

    private func draftOperation(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        operation(&generator, drafts, wanted: Self.wanted.drafts) { id, generator in
            Draft(
                id: id,
                content: EdgeValues.text(&generator),
                creationDate: EdgeValues.date(&generator),
                attachments: (0..<generator.int(0...3)).map { _ in EdgeValues.text(&generator) }
            )
        }
    }

    private func deletionByFilter(_ generator: inout SeededGenerator) -> RandomTransaction.Operation {
        let date = FilterExpression.literal(.date(EdgeValues.date(&generator)))
        let text = FilterExpression.literal(.string(EdgeValues.text(&generator).normalizedToNFC()))
        switch generator.int(0...3) {
        case 0: return .deleteWhere(Entry.self, .compare(.equal, .attribute(AttributePath("date")), date))
        case 1: return .deleteWhere(Habit.self, .compare(.equal, .attribute(AttributePath("name")), text))
        case 2:
            let name = AttributePath("name", of: RecordPath(hops: ["habit"]))
            return .deleteWhere(Entry.self, .compare(.equal, .attribute(name), text))
        default: return .deleteWhere(Draft.self, .text(.contains, .attribute(AttributePath("attachments")), text))
        }
    }
}
