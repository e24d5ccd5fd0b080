import Foundation
import HabitStore

/// A record of one store as a recording holds it.
struct RecordedRecord: Sendable, Hashable, Codable {
    /// Its attributes in the order of the schema; nil when the store does not have the record.
    let attributes: [RecordedAttribute]?
    /// The stable name of the error with which the store refused to show it.
    let errorCode: String?

    /// A record that is there, or not.
    init(attributes: [RecordedAttribute]?) {
        self.attributes = attributes
        errorCode = nil
    }

    /// A record that cannot be read.
    init(_ error: HabitStoreError) {
        attributes = nil
        errorCode = error.code.rawValue
    }
}
