import Foundation
import HabitStore

/// A value as a Core Data file holds it.
public struct CoreDataValue: Sendable, Hashable {
    /// The value, as a store here can keep it; null where it cannot.
    public let value: Value
    /// What is wrong with it, in words without the value; nil for what is as it should be.
    public let problem: String?
    /// What is stored, where the value cannot be kept: for the attachment of an import.
    let stored: SourceValue?

    /// A value that is as it should be.
    init(_ value: Value) {
        self.value = value
        problem = nil
        stored = nil
    }

    /// A value with something wrong about it, which can be kept.
    init(_ value: Value, but problem: String) {
        self.value = value
        self.problem = problem
        stored = nil
    }

    /// What cannot be kept as a value of its attribute.
    init(lost stored: SourceValue, _ problem: String) {
        value = .null
        self.problem = problem
        self.stored = stored
    }
}
