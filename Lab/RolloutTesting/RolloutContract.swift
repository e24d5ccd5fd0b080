import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker

/// The contract of a rollout between any two engines, in clauses that a test runs one by one:
///
/// ```swift
/// extension RolloutUnderTest {
///     static let toMine = RolloutUnderTest(from: SQLiteProvider(), to: MyProvider())
/// }
///
/// @Test(arguments: RolloutContract.clauses)
/// func moves(_ clause: RolloutContract.Clause) throws { try clause.verify(.toMine) }
/// ```
///
/// ``RolloutFaultTest`` is its randomised part.
public enum RolloutContract {
    /// One clause of the contract.
    public struct Clause: Sendable, Identifiable, CustomStringConvertible {
        /// The claim.
        public let name: String
        private let body: @Sendable (RolloutUnderTest) throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (RolloutUnderTest) throws -> Void) {
            self.name = name
            self.body = body
        }

        /// The claim.
        public var id: String { name }

        /// The claim.
        public var description: String { name }

        /// Verifies the clause for a new user in a temporary folder.
        ///
        /// - Throws: ``HabitStoreTesting/ContractViolation`` if the rollout violated the contract; other errors that the clause does not expect.
        public func verify(_ rollout: RolloutUnderTest) throws { try body(rollout) }
    }

    /// All clauses.
    public static let clauses: [Clause] = [
        stageClauses, killClauses, journeyClauses, differenceClauses, turningClauses,
    ].flatMap { $0 }
}

/// Each stage does what the table of ``HabitStoreRollout/Stage`` says.
extension RolloutContract {
    static let stageClauses = Stage.allCases.map { stage in
        Clause("at \(stage.rawValue) operations go where the table of the stages says") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: stage)
            let before = try (user.habitCount(.old), user.habitCount(.new))
            try store.save(Habit(name: "Read"))
            try user.expect(store, at: stage, habits: ["Read", "Run"])
            try expect(
                store.waitUntilMirrorIsIdle(waitSeconds: 60),
                "the mirror has everything: it is \(store.mirrorStatus)"
            )
            let isWritten = { (side: StoreSide) in stage.authority == side || stage.mirror == side }
            try expectEqual(try user.habitCount(.old), isWritten(.old) ? 2 : before.0, "the old store's habits")
            try expectEqual(try user.habitCount(.new), isWritten(.new) ? 2 : before.1, "the new store's habits")
            store.close()
            // The next process finds the same stage.
            let again = try user.stores().store(for: "alice")
            defer { again.close() }
            try user.expect(again, at: stage, habits: ["Read", "Run"])
        }
    }

    static let killClauses = Stage.allCases.map { stage in
        Clause("the kill switch takes a user back from \(stage.rawValue) without losing a record") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: stage)
            try store.save(Habit(name: "Read"))
            try user.want(stage.rawValue, kill: true)
            store.reloadFlags()
            try user.expect(store, at: .off, habits: ["Read", "Run"])
            try store.save(Habit(name: "Swim"))
            // The kill is latched: neither resetting the flag nor the wanted stage lets the user move forward.
            try user.want("complete")
            store.reloadFlags()
            try expectEqual(try store.stage(), .off, "the stage of a user who was killed")
            try expectEqual(try store.advance()?.reasons, [.killed], "why the gate is closed")
            try store.rearm(by: "the contract")
            try user.bring(store, to: .dualwrite)
            try user.expect(store, at: .dualwrite, habits: ["Read", "Run", "Swim"])
            try user.expectEqualStores()
        }
    }

    static let journeyClauses = [
        Clause("a user goes all the way there and all the way back, one stage at a time") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            var names: [String] = []
            func write(at stage: Stage, _ way: String) throws {
                names.append("\(way) \(stage.rawValue)")
                try store.save(Habit(name: names[names.count - 1]))
                try user.expect(store, at: stage, habits: names)
                guard stage.mirror != nil else { return }
                try expect(store.waitUntilMirrorIsIdle(waitSeconds: 60), "the mirror has everything")
                try user.expectEqualStores()
            }
            try write(at: .off, "at")
            for stage in Stage.allCases.dropFirst() {
                try user.bring(store, to: stage)
                try write(at: stage, "at")
            }
            for stage in Stage.allCases.dropLast().reversed() {
                try store.demote()
                try write(at: stage, "back at")
            }
        }
    ]
}

/// A verification finds a record that differs between the stores, and the gate stays closed.
extension RolloutContract {
    static let differenceClauses = PlantedDifference.allCases.flatMap { difference in
        StoreSide.allCases.map { side in
            Clause("\(difference.rawValue) in the \(side.rawValue) store only is found, and keeps the gate closed") {
                rollout in
                let user = try rollout.user()
                let store = try user.stores().store(for: "alice")
                defer { store.close() }
                try PlantedDifference.fill(store)
                try user.bring(store, to: .shadow)
                try user.withStore(side, .readWrite) { try difference.plant(in: $0) }
                let report = try store.verify()
                try expectEqual(report.verdict, .mismatch, "the verdict")
                let isNamed = report.differences.contains { $0.id == difference.id && $0.ignoredBy == nil }
                try expect(isNamed, "the record is named in \(report.differences)")
                try user.want("live")
                store.reloadFlags()
                for _ in 0..<5 { _ = try store.all(Tag.self) }
                let decision = try require(try store.advance(to: .live), "the gate's decision")
                let isClosed = decision.reasons.contains { reason in
                    if case .verificationNotClean = reason { true } else { false }
                }
                try expect(isClosed, "the gate is closed by the verification, and not by \(decision.reasons)")
                try expectEqual(try store.stage(), .shadow, "the stage")
                try store.save(Tag(name: "still written"))
                try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the number of tags")
            }
        }
    }
}

/// A change to one of two stores that is not in its history.
enum PlantedDifference: String, CaseIterable {
    case changed = "a record that was changed"
    case removed = "a record that was removed"
    case added = "a record that was added"
    case relinked = "a link that was taken away"

    private static let tag = identifier(1)
    private static let habit = identifier(2)
    private static let entry = identifier(3)

    private static func identifier(_ number: UInt8) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
    }

    /// Writes the records that the difference is planted into.
    static func fill(_ store: some HabitStore) throws {
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        try store.write(author: "contract") { transaction in
            try transaction.insert(Tag(id: tag, name: "sport"))
            try transaction.insert(Habit(id: habit, name: "Run", createdAt: date, tagIDs: [tag]))
            for number in 0..<20 {
                let entry = Entry(
                    id: number == 0 ? entry : UUID(),
                    date: date.addingTimeInterval(Double(number)),
                    habitID: habit
                )
                try transaction.insert(entry)
            }
        }
    }

    /// The record that will differ.
    var id: UUID {
        switch self {
        case .changed, .removed: Self.entry
        case .added: Self.identifier(4)
        case .relinked: Self.habit
        }
    }

    /// Plants the difference as a replicating transaction that never reached the other store.
    func plant(in store: any UserStoreBackend) throws {
        let schema = store.schema
        let entity = try schema.position(ofEntity: self == .relinked ? "Habit" : "Entry")
        try store.replicate { replica in
            switch self {
            case .changed:
                try Self.change(entity, id, "note", to: .string("changed"), schema, replica)
            case .removed: try replica.remove(entity: entity, id: id)
            case .added:
                let model = try require(try replica.record(entity: entity, id: Self.entry), "the entry")
                var values = try model.values(schema.entities[entity].layout)
                values[0] = .uuid(id)
                let record = try EncodedRecord(values, layout: schema.entities[entity].layout)
                try replica.put(entity: entity, id: id, record)
            case .relinked: try Self.change(entity, id, "tagIDs", to: .links([]), schema, replica)
            }
        }
    }

    private static func change(
        _ entity: Int,
        _ id: UUID,
        _ attribute: String,
        to value: Value,
        _ schema: Schema,
        _ replica: any ReplicaTransaction
    ) throws {
        let description = schema.entities[entity]
        let position = try require(description.position(of: attribute), "the attribute \(attribute)")
        var values = try require(try replica.record(entity: entity, id: id), "the record").values(description.layout)
        values[position] = value
        try replica.put(entity: entity, id: id, try EncodedRecord(values, layout: description.layout))
    }
}

/// After a complete rollout, the next one may lead back.
extension RolloutContract {
    static let turningClauses = [
        Clause("a user at complete goes back to the first engine by a new rollout") { rollout in
            let user = try rollout.user()
            let store = try user.stores().store(for: "alice")
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try user.bring(store, to: .complete)
            try store.save(Habit(name: "Read"))
            let back = EnginePair(old: user.new, new: user.old)
            try user.want("off", of: back)
            store.reloadFlags()
            try expectEqual(try store.stage(), .off, "the stage where the next rollout begins")
            try expectEqual(try store.engine(), user.new, "the engine where the next rollout begins")
            var names = ["Read", "Run"]
            for stage in Stage.allCases.dropFirst() {
                try user.bring(store, to: stage, of: back)
                names.append("back at \(stage.rawValue)")
                try store.save(Habit(name: names[names.count - 1]))
                try expectEqual(try store.all(Habit.self).map(\.name).sorted(), names.sorted(), "what is read")
                guard stage.mirror != nil else { continue }
                try expect(store.waitUntilMirrorIsIdle(waitSeconds: 60), "the mirror has everything")
                try user.expectEqualStores()
            }
            try expectEqual(try store.engine(), user.old, "the engine that serves in the end")
            store.close()
            let again = try user.stores().store(for: "alice")
            defer { again.close() }
            try expectEqual(try again.engine(), user.old, "the engine that serves the next process")
            try expectEqual(
                try again.all(Habit.self).map(\.name).sorted(),
                names.sorted(),
                "what the next process reads"
            )
        }
    ]
}
