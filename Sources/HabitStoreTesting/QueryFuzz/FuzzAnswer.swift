import Foundation
import HabitStore

/// What a store, or Foundation, answers to a query.
enum FuzzAnswer: Equatable, Sendable, CustomStringConvertible {
    /// Records, by their identifiers.
    case records([UUID])
    /// Records whose identifiers are right and whose attributes are not.
    case altered([UUID])
    /// A number of records.
    case count(Int)
    /// An error.
    case failure(code: String, entity: String?, id: UUID?)

    /// The answer that `body` gives.
    init(_ body: () throws -> FuzzAnswer) {
        do {
            self = try body()
        } catch let error as HabitStoreError {
            self = .failure(code: error.code.rawValue, entity: error.location.entity, id: error.location.id)
        } catch {
            self = .failure(code: "\(type(of: error))", entity: nil, id: nil)
        }
    }

    var isFailure: Bool {
        if case .failure = self { return true }
        return false
    }

    /// Whether a store's answer is this one. Where an error does not name its place, its code is compared.
    func agrees(with other: FuzzAnswer) -> Bool {
        guard case .failure(let code, let entity, let id) = self,
            case .failure(code, let otherEntity, let otherID) = other
        else { return self == other }
        return (entity == nil || otherEntity == nil || entity == otherEntity)
            && (id == nil || otherID == nil || id == otherID)
    }

    var description: String {
        switch self {
        case .records(let ids): return "\(ids.count) records: \(ids.map(\.uuidString).joined(separator: ", "))"
        case .altered(let ids):
            return "records with other attributes among: \(ids.map(\.uuidString).joined(separator: ", "))"
        case .count(let count): return "the count \(count)"
        case .failure(let code, let entity, let id): return "error \(code) at \(entity ?? "-") \(id?.uuidString ?? "-")"
        }
    }
}
