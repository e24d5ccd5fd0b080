import Foundation
import HabitStore
import HabitStorePostgres
import Testing

@testable import HabitStoreRollout

/// One fault, planted in one of a user's two stores.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    /// A difference that the verification must report.
    struct Trace: Sendable {
        /// The level that reports it.
        var level: String
        var entity: String?
        var id: UUID?
        var attribute: String?
        /// The history transaction.
        var token: HistoryToken?
    }

    /// How the fault is caused.
    enum Deed: Sendable {
        /// The file, or the rows on a server, are changed while no process has the store open.
        case file(@Sendable (any FaultPlanter, PlantedContents) throws -> Void)
        /// The file is right, and the engine answers wrongly.
        case answers(Misanswer)
    }

    let name: String
    let engine: EngineName
    let deed: Deed
    /// Every difference that must be reported; further ones may be.
    let traces: [Trace]
    /// The required result of the verification.
    var outcome = Outcome.mismatch

    /// A result of the verification.
    enum Outcome: Sendable {
        case mismatch
        /// The two stores are at different tokens, which ends the verification.
        case skew
        /// The store is too damaged to be read, and its error says so.
        case refusal
    }

    var testDescription: String { "\(name), in \(engine.rawValue)" }

    /// The same fault with another expected result.
    func expecting(_ outcome: Outcome) -> PlantedFault {
        var fault = self
        fault.outcome = outcome
        return fault
    }

    /// The engines in which faults are planted.
    static let engines: [EngineName] = [.sqlite, .lmdb, .postgres]

    /// The same fault in each of the engines.
    static func inEach(
        _ name: String,
        _ traces: [Trace],
        _ plant: @escaping @Sendable (any FaultPlanter, PlantedContents) throws -> Void
    ) -> [PlantedFault] {
        only(engines, name, traces, plant)
    }

    /// A fault that only some of the engines can have.
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
