import Foundation
import HabitStore

/// A value of a Core Data file.
public struct CoreDataValue: Sendable, Hashable {
    /// The value as a store can hold it; null if it cannot.
    public let value: Value
    /// The defect of the value, in words without the value itself; nil if there is none.
    public let problem: String?
    /// The stored value, if it cannot be held exactly; an import adds it to the attachment.
    let stored: SourceValue?
    /// The kind of loss that an import counts.
    let loss: ImportLoss.Kind

    /// A value without defects.
    init(_ value: Value) {
        self.value = value
        problem = nil
        stored = nil
        loss = .otherType
    }

    /// A value with a defect that can be held nevertheless.
    init(_ value: Value, but problem: String) {
        self.value = value
        self.problem = problem
        stored = nil
        loss = .otherType
    }

    /// A value that cannot be held as its attribute's type, or only in an altered form.
    init(lost stored: SourceValue, _ problem: String, as loss: ImportLoss.Kind = .otherType, kept value: Value = .null)
    {
        self.value = value
        self.problem = problem
        self.stored = stored
        self.loss = loss
    }
}
