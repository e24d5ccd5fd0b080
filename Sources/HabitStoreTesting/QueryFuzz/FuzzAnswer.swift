import Foundation
import HabitStore

/// The answer of a store or of Foundation to a query.
enum FuzzAnswer: Equatable, Sendable, CustomStringConvertible {
    /// Records, by their identifiers.
    case records([UUID])
    /// Records with the right identifiers and wrong attributes.
    case altered([UUID])
    case count(Int)
    case failure(code: String, entity: String?, id: UUID?)

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

    /// Whether two answers agree. An error's place is compared only if both errors name one.
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
