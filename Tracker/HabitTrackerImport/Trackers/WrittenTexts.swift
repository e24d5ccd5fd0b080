import Foundation
import HabitStoreImport

/// The exact texts of an attachment that have characters which NFC replaces.
struct WrittenTexts {
    private var texts: Set<Data> = []

    /// Adds the texts in a value.
    mutating func add(_ json: ImportJSON) {
        switch json {
        case .string(let text): if WitnessCell.hasReplacedCharacters(text) { texts.insert(Data(text.utf8)) }
        case .array(let elements): for element in elements { add(element) }
        case .object(let members): for member in members.values { add(member) }
        case .null, .int, .double, .bool: break
        }
    }

    /// Whether a text is preserved: the store keeps its characters, or the attachment has the original of the text or of a part of it.
    func keeps(_ text: String) -> Bool {
        guard WitnessCell.hasReplacedCharacters(text) else { return true }
        let bytes = Data(text.utf8)
        return texts.contains(bytes) || texts.contains { bytes.range(of: $0) != nil }
    }
}
