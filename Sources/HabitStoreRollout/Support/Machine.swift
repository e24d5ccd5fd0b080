import DurableFiles
import Foundation
import HabitStore

/// The machine that a user belongs to during a rollout between a server store, which other machines reach, and a store in files, which only this
/// machine has.
///
/// It is identified by a number in the folder of all users' folders, and moves with that folder: a recreated container, or a disk in another
/// computer, is the same machine.
struct Machine: Sendable, Hashable {
    private static let fileName = "machine"
    private static let digits = 32

    /// The number, in hexadecimal digits.
    let number: String
    /// The host and the folder when a store last recorded them; for people.
    let place: String

    /// `NUMBER@HOST:FOLDER`, in printable ASCII.
    var text: String { "\(number)@\(place.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "")" }

    init(parsing text: String) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        number = parts[0]
        place = parts.count > 1 ? parts[1].removingPercentEncoding ?? parts[1] : ""
    }

    private init(_ number: String, _ folder: String) {
        self.number = number
        place = "\(ProcessInfo.processInfo.hostName):\(folder)"
    }

    /// The machine of a folder of users' folders; nil if it has no number yet.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if its number cannot be read.
    init?(having folder: String) throws {
        let path = folder + "/" + Self.fileName
        do {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let number = String(decoding: bytes.prefix(Self.digits), as: UTF8.self)
            guard number.utf8.count == Self.digits, number.allSatisfy(\.isHexDigit) else {
                throw HabitStoreError(
                    .corrupt,
                    "the machine's number is damaged; put the file back",
                    at: .init(path: path)
                )
            }
            self.init(number, folder)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
    }

    /// The machine of a folder of users' folders, which gets a number if it has none.
    ///
    /// - Throws: system errors.
    static func having(_ folder: String) throws -> Machine {
        if let known = try Machine(having: folder) { return known }
        let path = folder + "/" + fileName
        let lock = try FileLock(path: path + ".lock", timeoutSeconds: lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        if let known = try Machine(having: folder) { return known }
        let number = UUID().uuidString.replacing("-", with: "").lowercased()
        do {
            try DurableFile.replace(path, Data(number.utf8), draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the machine's number cannot be written; check the root's permissions and space",
                at: .init(path: path),
                underlying: error
            )
        }
        return Machine(number, folder)
    }

    private static let lockWaitSeconds = 5.0

    /// Makes a folder of copies belong to the machine of the original; does nothing if the original has no number.
    static func copy(from folder: String, to copies: String) throws {
        guard let machine = try Machine(having: folder) else { return }
        let path = copies + "/" + fileName
        do {
            try DurableFile.replace(path, Data(machine.number.utf8), draft: DurableFile.ownDraft(of: path))
        } catch {
            throw HabitStoreError(.inputOutput, "a copy cannot be written", at: .init(path: path), underlying: error)
        }
    }
}
