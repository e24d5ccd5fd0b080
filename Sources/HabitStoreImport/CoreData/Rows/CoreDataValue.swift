import Foundation
import HabitStore

/// A value as a Core Data file holds it.
public struct CoreDataValue: Sendable, Hashable {
    /// The value, as a store here can keep it; null where it cannot.
    public let value: Value
    /// What is wrong with it, in words without the value; nil for what is as it should be.
    public let problem: String?
    /// What is stored, where the value cannot be kept, or not byte for byte: for the attachment of an import.
    let stored: SourceValue?
    /// What an import counts the problem as.
    let loss: ImportLoss.Kind

    /// A value that is as it should be.
    init(_ value: Value) {
        self.value = value
        problem = nil
        stored = nil
        loss = .otherType
    }

    /// A value with something wrong about it, which can be kept.
    init(_ value: Value, but problem: String) {
        self.value = value
        self.problem = problem
        stored = nil
        loss = .otherType
    }

    /// What cannot be kept as a value of its attribute, or only as another one.
    init(lost stored: SourceValue, _ problem: String, as loss: ImportLoss.Kind = .otherType, kept value: Value = .null)
    {
        self.value = value
        self.problem = problem
        self.stored = stored
        self.loss = loss
    }
}
