import Foundation
import HabitStore
import HabitStorePostgres
import Testing

@testable import HabitStoreRollout

/// One way in which a store can be wrong, planted in one of a user's two stores.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    /// What the verification must say of it.
    struct Trace: Sendable {
        /// The level that says it.
        var level: String
        var entity: String?
        var id: UUID?
        var attribute: String?
        /// The history transaction.
        var token: HistoryToken?
    }

    /// How it gets there.
    enum Deed: Sendable {
        /// The file, or what a server has, is changed while nobody has it open.
        case file(@Sendable (any FaultPlanter, PlantedContents) throws -> Void)
        /// The file is right, and the engine answers wrongly.
        case answers(Misanswer)
    }

    let name: String
    let engine: EngineName
    let deed: Deed
    /// Everything that must be said, each by itself; differences beside these may be found.
    let traces: [Trace]
    /// What the verification must come to.
    var outcome = Outcome.mismatch

    /// What a verification comes to.
    enum Outcome: Sendable {
        case mismatch
        /// The two stores stand at different tokens, which ends it.
        case skew
        /// The store is damaged so that nothing of it is read, and says so.
        case refusal
    }

    var testDescription: String { "\(name), in \(engine.rawValue)" }

    /// The same fault, of which something else must come.
    func expecting(_ outcome: Outcome) -> PlantedFault {
        var fault = self
        fault.outcome = outcome
        return fault
    }

    /// The engines that faults are planted in.
    static let engines: [EngineName] = [.sqlite, .lmdb, .postgres]

    /// The same fault in each of the engines.
    static func inEach(
        _ name: String,
        _ traces: [Trace],
        _ plant: @escaping @Sendable (any FaultPlanter, PlantedContents) throws -> Void
    ) -> [PlantedFault] {
        only(engines, name, traces, plant)
    }

    /// A fault that only some of the engines can hold.
    static func only(
        _ engines: [EngineName],
        _ name: String,
        _ traces: [Trace],
        _ plant: @escaping @Sendable (any FaultPlanter, PlantedContents) throws -> Void
    ) -> [PlantedFault] {
        engines.map { PlantedFault(name: name, engine: $0, deed: .file(plant), traces: traces) }
    }

    /// Another value in one attribute of one record.
    static func value<M: PersistentModel>(_ name: String, _ model: M, _ attribute: String, _ value: Value)
        -> [PlantedFault]
    {
        inEach(name, [.contents(model, attribute)]) { planter, _ in
            try planter.change(M.entity.name, model.id, [attribute: value])
        }
    }
}

extension PlantedFault.Trace {
    /// An attribute that differs, or with nil a record that one of the stores lacks.
    static func contents<M: PersistentModel>(_ model: M, _ attribute: String?) -> Self {
        .init(level: "contents", entity: M.entity.name, id: model.id, attribute: attribute)
    }

    /// A record that one of the stores lacks.
    static func contents(_ entity: String, _ id: UUID) -> Self { .init(level: "contents", entity: entity, id: id) }
}
