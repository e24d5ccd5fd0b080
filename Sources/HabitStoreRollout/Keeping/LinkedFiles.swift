import Foundation
@_spi(Engines) import HabitStore

/// Files of a user that have other names elsewhere (hard links), as `cp -al` of the root leaves them.
///
/// Stores, control file and evidence are written in place: a write here would change the snapshot, and a write there would change this
/// user. A store's log belongs to one name only. Separating them replaces each of the user's files by a copy and leaves the snapshot
/// unchanged.
struct LinkedFiles {
    private static let control = "control"
    /// The prefix of a file that is being copied.
    private static let draftPrefix = "own-"

    private let directory: UserDirectory
    private let stores: [(file: String, provider: any FileEngineProvider)]

    init(_ directory: UserDirectory, _ engines: Engines) {
        self.directory = directory
        stores = engines.names.compactMap { name in
            guard let provider = try? engines.provider(name) as? any FileEngineProvider else { return nil }
            return ((engines.address(name, of: directory).path as NSString).lastPathComponent, provider)
        }
    }

    /// The control file and stores that have other names. The remaining files then have them too, and matter less.
    var names: [String] { ([Self.control] + stores.map(\.file)).filter(isLinked) }

    /// Replaces each file by a copy. The caller holds the lock of the user's switches, and no process has the user open.
    ///
    /// If the process dies in between, some files are copies and the others still shared, with the same contents; the next opening separates the
    /// rest.
    ///
    /// - Parameter isKnown: whether the control file recognized itself as the one that was written.
    /// - Throws: ``HabitStoreError/Code/busy`` if something other than this library wrote to the files meanwhile.
    func separate(isKnown: Bool) throws {
        let linked = try KeptFiles.names(directory.path).filter { !$0.hasSuffix(".lock") && isLinked($0) }
        let copied = linked.filter { !isDropped($0) }
        let before = copied.map(status)
        for name in copied { try KeptFiles.copy(path(name), to: path(Self.draftPrefix + name)) }
        guard zip(before, copied.map(status)).allSatisfy({ $0 != nil && $0 == $1 }) else {
            for name in copied { try KeptFiles.remove(path(Self.draftPrefix + name)) }
            throw HabitStoreError(
                .busy,
                "the files have other names (hard links), and were written to while they were copied; end what uses them",
                at: .init(path: directory.path)
            )
        }
        if isKnown, copied.contains(Self.control) {
            try ControlFile(path: path(Self.draftPrefix + Self.control), isOpening: false).noteCopy()
        }
        for name in linked.filter(isDropped) { try KeptFiles.remove(path(name)) }
        // The files that `names` looks at come last. A log comes before its store: if the snapshot is written to meanwhile, the
        // store then has an older log, which is refused, rather than a newer one, which would be recovered into it.
        for name in copied.sorted(by: { rank($0) < rank($1) }) {
            try KeptFiles.move(path(Self.draftPrefix + name), to: path(name))
        }
    }

    /// Whether opening the store recreates the file.
    private func isDropped(_ name: String) -> Bool {
        stores.contains { file, provider in
            provider.sidecars.contains { file + $0 == name && !provider.copiedSidecars.contains($0) }
        }
    }

    private func rank(_ name: String) -> Int {
        if name == Self.control { return 2 }
        return stores.contains { $0.file == name } ? 1 : 0
    }

    private func path(_ name: String) -> String { directory.path + "/" + name }

    private func isLinked(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink > 1
    }

    /// Changes with every write to the file.
    private func status(_ name: String) -> [Int64]? {
        var status = stat()
        guard lstat(path(name), &status) == 0 else { return nil }
        #if canImport(Darwin)
        let modified = status.st_mtimespec
        #else
        let modified = status.st_mtim
        #endif
        return [Int64(status.st_size), Int64(modified.tv_sec), Int64(modified.tv_nsec)]
    }
}
