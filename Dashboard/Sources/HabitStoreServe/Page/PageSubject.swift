import Foundation
import HabitStore

/// The fleet that the page is about.
struct PageSubject: Sendable {
    let root: String
    let storeName: String?
    let showsUsers: Bool

    /// The fleet's name: that of its store, or of the root's folder.
    var fleetName: String { storeName ?? URL(fileURLWithPath: root).lastPathComponent }

    /// Replaces the runbook's placeholders in a command with known values.
    ///
    /// - Parameter user: the user's name on the page. If that is not the id, the command looks up the id in the fleet's files.
    func filled(_ command: String, user: String? = nil) -> String {
        let place = Self.quoted(root) + (storeName.map { " --store-name \($0)" } ?? "")
        var words = command.split(separator: " ", omittingEmptySubsequences: false).map {
            $0 == "ROOT" ? place : String($0)
        }
        if let user {
            let id = showsUsers ? Self.quoted(user) : "\"$(\(OperatorCommand.name) fleet who --root \(place) \(user))\""
            words = words.map { $0 == "USER" ? id : $0 }
        }
        return words.joined(separator: " ")
    }

    /// Replaces the placeholders in the code of a sentence.
    func filled(_ pieces: [PageModel.Piece], user: String? = nil) -> [PageModel.Piece] {
        pieces.map { $0.isCode ? PageModel.Piece(text: filled($0.text, user: user), isCode: true) : $0 }
    }

    /// Replaces the user in the commands of an error or a difference, which have `--user U`.
    func filled(message: String, user: String?) -> String {
        guard let user else { return message }
        return message.replacing(/--user U(?=[` ])/, with: filled("--user USER --root ROOT", user: user))
    }

    /// Quotes a word for a shell.
    private static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "/._-".utf8.contains(byte)
        }
        return plain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
