import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import RawStoreFiles
import StandardEngines
import Testing

/// One change to the file of one of two equal stores, or of both, made around the store's own code: by SQL as in the stock shell, or by liblmdb's
/// puts and deletes.
struct PlantedChange: Sendable, CustomTestStringConvertible {
    /// The findings that the verification and the check must report.
    enum Answer: Sendable, Equatable {
        /// The verification finds a difference or throws; each store may be sound on its own.
        case difference
        /// The verification finds a difference or throws, and the check of the store finds damage or throws.
        case damage
        /// Opening the file is refused.
        case refusal
        /// The stores match, for a reason that the documentation gives.
        case stated(DocumentedReason)
    }

    /// The changed part of the store.
    enum Part: String, Sendable, CaseIterable {
        case values, records, links, lists, texts, definitions, indexes, databases, bookkeeping, digests, history,
            bytes, both
    }

    let part: Part
    let name: String
    /// The engine whose file is changed; nil for both.
    let engine: EngineName?
    let answer: Answer
    /// Whether the kept digests are rebuilt after the change, so that they match the records.
    var hasFittingDigests = false
    /// Whether the stores have so many records that an entity has several digests.
    var isWide = false
    let plant: @Sendable (ChangedPair) throws -> Void

    var testDescription: String {
        let place = engine?.rawValue ?? "both"
        return "\(part.rawValue), \(place): \(name)" + (hasFittingDigests ? ", with digests that fit" : "")
            + (isWide ? ", among many" : "")
    }

    /// The same change with matching digests: only the contents can reveal it.
    var withFittingDigests: PlantedChange {
        var copy = self
        copy.hasFittingDigests = true
        return copy
    }

    /// A row of a table of changes.
    typealias Row = (name: String, change: String, answer: Answer)

    /// Gives the rows of a table their type, which the compiler would otherwise infer over the whole table.
    static func rows(_ rows: [Row]) -> [Row] { rows }

    /// The same for two texts a row.
    static func pairs(_ pairs: [(String, String)]) -> [(String, String)] { pairs }

    /// The same for three texts a row.
    static func triples(_ triples: [(String, String, String)]) -> [(String, String, String)] { triples }

    /// A change by SQL.
    static func sql(
        _ part: Part,
        _ name: String,
        _ answer: Answer,
        isWide: Bool = false,
        _ sql: String
    ) -> PlantedChange {
        PlantedChange(part: part, name: name, engine: .sqlite, answer: answer, isWide: isWide) { try $0.run(sql) }
    }

    /// A change by liblmdb.
    static func lmdb(
        _ part: Part,
        _ name: String,
        _ answer: Answer,
        isWide: Bool = false,
        _ plant: @escaping @Sendable (RawTransaction) throws -> Void
    ) -> PlantedChange {
        PlantedChange(part: part, name: name, engine: .lmdb, answer: answer, isWide: isWide) { try $0.write(plant) }
    }

    /// A change of both files.
    static func both(
        _ name: String,
        _ answer: Answer,
        isWide: Bool = false,
        _ plant: @escaping @Sendable (ChangedPair) throws -> Void
    ) -> PlantedChange {
        PlantedChange(part: .both, name: name, engine: nil, answer: answer, isWide: isWide, plant: plant)
    }

    /// The same change in each of the engines.
    static func inBoth(
        _ part: Part,
        _ name: String,
        _ answer: Answer,
        _ plant: @escaping @Sendable (any FaultPlanter) throws -> Void
    ) -> [PlantedChange] {
        EngineName.standard.map { engine -> PlantedChange in
            PlantedChange(part: part, name: name, engine: engine, answer: answer) { try plant($0.planter(engine)) }
        }
    }

    /// Every change of the catalogue.
    static let all: [PlantedChange] = {
        let ordinary = [values, numbersBeyond, records, links, lists].flatMap { $0 }
        let readable = ordinary.filter { $0.answer != .damage }
        let others = [
            texts, definitions, indexes, files, databases, bookkeeping, schemas, digests, sqliteHistories,
            lmdbHistories,
            recordBytes, rottenPages, lmdbIndexes, inBothFiles,
        ]
        return ordinary + readable.map(\.withFittingDigests) + others.flatMap { $0 }
    }()
}
