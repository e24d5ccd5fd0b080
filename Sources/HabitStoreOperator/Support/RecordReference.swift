import Foundation
import HabitStore
import HabitStoreReports

/// A record named on the command line: by its exact name, or by its identifier or the first digits of it.
package struct RecordReference {
    /// A record that may be meant.
    package struct Candidate {
        let id: UUID
        let name: String

        package init(id: UUID, name: String) { (self.id, self.name) = (id, name) }
    }

    private static let fewestDigits = 4
    private static let listedCandidates = 8

    let text: String
    /// The noun for the record in messages: `habit`, `draft`.
    let what: String

    package init(text: String, what: String) { (self.text, self.what) = (text, what) }

    /// The first digits of an identifier, as listings show it.
    package static func short(_ id: UUID) -> String { String(id.uuidString.prefix(8)).lowercased() }

    /// Finds the one record that is meant.
    ///
    /// - Parameter byName: the records with the text as their name.
    /// - Throws: a usage error if there is none, or more than one.
    package func resolve(byName: [Candidate] = [], byIdentifier: (FilterExpression) throws -> [Candidate]) throws
        -> UUID
    {
        if let only = try single(byName, "the same name") { return only }
        if let condition = identifierCondition,
            let only = try single(try byIdentifier(condition), "an id that begins so")
        {
            return only
        }
        throw CommandFailure.usage(
            "there is no \(what) \"\(shown)\": use its listed name, or the first \(Self.fewestDigits) or more digits of its id"
        )
    }

    private func single(_ found: [Candidate], _ property: String) throws -> UUID? {
        guard found.count > 1 else { return found.first?.id }
        let ids = found.prefix(Self.listedCandidates).map { Self.distinct($0.id, among: found) }
        let more = found.count > ids.count ? ", …" : ""
        throw CommandFailure.usage(
            "\(found.count) \(what)s have \(property) \"\(shown)\"; name one by its id: " + ids.joined(separator: ", ")
                + more
        )
    }

    /// As many digits as needed to distinguish the record from the others.
    private static func distinct(_ id: UUID, among others: [Candidate]) -> String {
        let digits = id.uuidString.lowercased()
        let isTaken = others.contains { $0.id != id && short($0.id) == short(id) }
        return isTaken ? digits : short(id)
    }

    /// The text as shown in messages.
    package var shown: String { TerminalText.truncated(TerminalText.escaped(text), toWidth: 60) }

    /// The condition that an identifier begins with the text; nil if the text is not the beginning of one.
    private var identifierCondition: FilterExpression? {
        let digits = text.filter { $0 != "-" }
        guard (Self.fewestDigits...32).contains(digits.count), digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        func filled(_ digit: Character) -> UUID? {
            let all = Array(digits + String(repeating: digit, count: 32 - digits.count))
            let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }
            return UUID(uuidString: groups.joined(separator: "-"))
        }
        guard let first = filled("0"), let last = filled("F") else { return nil }
        let id = FilterExpression.attribute(AttributePath("id"))
        return .and([
            .compare(.greaterOrEqual, id, .literal(.uuid(first))),
            .compare(.lessOrEqual, id, .literal(.uuid(last))),
        ])
    }
}
