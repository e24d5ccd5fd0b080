import Foundation
import HabitStore

/// Two stores gave different answers to the same question.
public struct Disagreement: Error, Sendable, CustomStringConvertible {
    /// The seed that reproduces it.
    public let seed: UInt64
    /// The number of operations and queries before it.
    public let step: Int
    /// The operation, or the query in its text form.
    public let question: String
    /// The answer of the reference, the store in memory.
    public let reference: String
    /// The answer of the store under test.
    public let subject: String

    /// The seed, the step, the question and both answers.
    public var description: String {
        """
        the stores disagree at step \(step) of seed \(seed)
          question:  \(question)
          reference: \(reference)
          subject:   \(subject)
        """
    }
}

/// A store's answer: a value or an error.
enum Answer<T: Equatable>: Equatable, CustomStringConvertible {
    case value(T)
    case failure(code: String, entity: String?, attribute: String?, id: UUID?)

    /// The answer that `body` gives.
    init(_ body: () throws -> T) {
        do {
            self = .value(try body())
        } catch let error as HabitStoreError {
            let place = error.location
            self = .failure(code: error.code.rawValue, entity: place.entity, attribute: place.attribute, id: place.id)
        } catch {
            self = .failure(code: "\(type(of: error))", entity: nil, attribute: nil, id: nil)
        }
    }

    var isFailure: Bool {
        if case .failure = self { return true }
        return false
    }

    var description: String {
        switch self {
        case .value(let value): return "\(value)"
        case .failure(let code, let entity, let attribute, let id):
            return "error \(code) at \(entity ?? "-").\(attribute ?? "-") \(id?.uuidString ?? "-")"
        }
    }
}
