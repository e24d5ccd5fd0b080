import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// An attribute's value in a recording: the value itself, or a digest that only tells whether two are the same.
struct RecordedAttribute: Sendable, Hashable, Codable {
    /// The attribute's name.
    let name: String
    /// The value as a report of the same comparison shows it.
    let shown: String
    /// The tag and the bytes that the attribute has in ``HabitStore/CanonicalForm``; nil where values are not kept.
    let canonical: Data?
    /// HMAC-SHA-256 of the bytes with a key that the recorder forgets, so that values cannot be tried against it. Nil if values are kept.
    let digest: Data?

    /// - Parameter key: nil to keep the value.
    init(name: String, _ part: CanonicalReader.Part, shown: String, key: SymmetricKey?) {
        self.name = name
        self.shown = shown
        let bytes = Data([part.tag.rawValue]) + Data(part.bytes)
        canonical = key == nil ? bytes : nil
        digest = key.map { Data(HMAC<SHA256>.authenticationCode(for: bytes, using: $0)) }
    }

    /// Whether both are the same value to the last bit. Only attributes of one recording can be compared.
    func isIdentical(to other: RecordedAttribute) -> Bool {
        canonical == other.canonical && digest == other.digest
    }
}
