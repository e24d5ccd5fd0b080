import DurableFiles
import Foundation
import HabitStore

/// The file `erasing` in a user's folder: while it exists, no process serves the user from there, and the next erasure finishes this one.
struct ErasureMark {
    static let fileName = "erasing"

    private let folder: String

    init(_ directory: UserDirectory) { folder = directory.path }

    /// Whether an erasure was begun. Costs a system call.
    var isThere: Bool { KeptFiles.exists("erasing", in: folder) }

    /// - Throws: ``HabitStoreError/Code/notFound`` if one was begun.
    func requireNone() throws {
        guard isThere else { return }
        throw HabitStoreError(
            .notFound,
            "the user is being erased and is not served; `\(OperatorCommand.name) user erase` finishes it",
            at: .init(path: folder)
        )
    }

    /// Begins an erasure.
    func make() throws {
        let path = folder + "/" + Self.fileName
        do {
            // Must not name the user, since it outlives everything else.
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
