import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

/// The users of a root whose stores were found to differ: `ROOT/differing` has a file for each, with the name of the user's folder.
///
/// The evidence decides. A mark says whose evidence to read, so that a fleet's status, page and metrics show a difference without reading every
/// user's evidence. It is written after the evidence, and removed after a complete verification that found no difference.
package struct DifferenceMarks: Sendable {
    private static let folderName = "differing"

    private let root: String
    private var folder: String { root + "/" + Self.folderName }

    /// The marks of a root; creates nothing yet.
    package init(root: String) { self.root = root }

    init(_ directory: UserDirectory) { self.init(root: directory.root) }

    /// The folder, whose modification time shows a change.
    package var path: String { folder }

    func path(of directory: UserDirectory) -> String { folder + "/" + directory.name }

    /// Updates a user's mark from the evidence.
    ///
    /// - Parameter read: reads the evidence. It is called again after a mark was removed, since another process may have found a difference in
    ///   between.
    func update(_ directory: UserDirectory, _ read: () throws -> StageEvidence) throws {
        if let difference = try read().openDifference { return try set(directory, difference) }
        guard isSet(directory), try read().lastClean != nil else { return }
        try remove(directory)
        if let difference = try read().openDifference { try set(directory, difference) }
    }

    func remove(_ directory: UserDirectory) throws {
        do {
            _ = try MarkerFile.remove(path(of: directory))
        } catch {
            throw HabitStoreError.system(error, "the mark of a user whose stores differed")
        }
    }

    /// Removes the mark of a user whose stores a complete verification has found equal.
    package func forget(_ user: String) throws { try remove(UserDirectory(root: root, user: user)) }

    func isSet(_ directory: UserDirectory) -> Bool { KeptFiles.exists(path(of: directory)) }

    private func set(_ directory: UserDirectory, _ difference: StageEvidence.Difference) throws {
        try PrivateFolder.make(
            folder,
            or: .permissionDenied,
            "the folder of users whose stores differ cannot be made; check the root's permissions and space"
        )
        let time = difference.time.date.formatted(.iso8601)
        do {
            _ = try MarkerFile.make(
                path(of: directory),
                "\(time) \(difference.stage.rawValue)\n\(difference.message)\n"
            )
        } catch {
            throw HabitStoreError.system(error, "the mark of a user whose stores differ")
        }
    }

    /// The marked ones of the users.
    package func marked(among users: [String]) throws -> [String] {
        guard KeptFiles.exists(folder) else { return [] }
        let names = Set(try KeptFiles.names(folder))
        guard !names.isEmpty else { return [] }
        let parent = UserDirectory.folder(root: root)
        return try users.filter { names.contains(try UserDirectory(folder: parent, user: $0).name) }
    }

    /// The state of a user's stores, from the evidence alone.
    package enum Word: Sendable, Hashable {
        /// They differ: a difference was found, and no complete verification has refuted it since.
        case differs(UserStatus.Difference)
        /// A complete verification found no difference, and no difference was found since.
        case clean
        /// No difference was found, and no verification was clean.
        case unknown
    }

    /// Reads a user's evidence.
    ///
    /// - Throws: why it cannot be read.
    package func word(of user: String) throws -> Word {
        let directory = try UserDirectory(root: root, user: user)
        let evidence = try EvidenceLog(directory).summary().evidence
        if let difference = evidence.openDifference { return .differs(.init(difference)) }
        return evidence.lastClean == nil ? .unknown : .clean
    }
}
