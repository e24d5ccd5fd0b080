import Foundation
@_spi(Engines) import HabitStore

/// The listed differences of a comparison, each with the data that showed it, so that it can be examined without the stores.
///
/// Without values, each value is replaced by the HMAC-SHA-256 of its bytes, with a key made for the recording and then forgotten. It shows whether two
/// values of the recording are the same, and nothing else.
public struct MismatchRecording: Sendable {
    /// The most identifiers of answers and links in a recording; beyond them only the difference is recorded.
    static let maximumIdentifiers = 1_000_000

    /// One of the two stores.
    struct Side: Sendable, Hashable, Codable {
        let name: String
        let information: StoreInformation
    }

    let a: Side
    let b: Side
    /// Whether the values themselves are in it.
    public let keepsValues: Bool
    /// The shape of each entity, by ``HabitStore/Schema/shapeHash(ofEntity:)``.
    public let shapes: [String: String]
    private(set) var mismatches: [RecordedMismatch] = []

    init(_ report: VerificationReport, _ schema: Schema) {
        a = Side(name: report.a.name, information: report.a.information)
        b = Side(name: report.b.name, information: report.b.information)
        keepsValues = report.showsValues
        var shapes: [String: String] = [:]
        for (position, entity) in schema.entities.enumerated() {
            shapes[entity.name] = schema.shapeHash(ofEntity: position)
        }
        self.shapes = shapes
    }

    init(a: Side, b: Side, keepsValues: Bool, shapes: [String: String], mismatches: [RecordedMismatch]) {
        self.a = a
        self.b = b
        self.keepsValues = keepsValues
        self.shapes = shapes
        self.mismatches = mismatches
    }

    mutating func add(_ mismatch: RecordedMismatch) { mismatches.append(mismatch) }

    /// The differences, in the order in which they were found.
    public var differences: [StoreDifference] { mismatches.map(\.difference) }

    /// The differences' token: that of the first store.
    public var token: HistoryToken { a.information.token }
}
