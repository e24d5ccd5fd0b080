import DurableFiles
import Foundation
import HabitStore

/// The file `erasing` in a user's folder: whoever finds it serves nobody from there, and the erasure is finished by the next one.
struct ErasureMark {
    static let fileName = "erasing"

    private let folder: String

    init(_ directory: UserDirectory) { folder = directory.path }

    /// Whether an erasure was begun. Costs a call of the system.
    var isThere: Bool { KeptFiles.exists("erasing", in: folder) }

    /// - Throws: ``HabitStoreError/Code/notFound`` where one was.
    func requireNone() throws {
        guard isThere else { return }
        throw HabitStoreError(
            .notFound,
            "the user is being erased, and nobody is served from here; `\(OperatorCommand.name) user erase` finishes it",
            at: .init(path: folder)
        )
    }

    /// Begins an erasure.
    func make() throws {
        let path = folder + "/" + Self.fileName
        do {
            // Whose it was, nobody is to read here when all else is gone.
            _ = try MarkerFile.make(path, "an erasure was begun; `\(OperatorCommand.name) user erase` finishes it\n")
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the erasure cannot be begun: the file \(error)",
                at: .init(path: path)
            )
        }
    }
}
