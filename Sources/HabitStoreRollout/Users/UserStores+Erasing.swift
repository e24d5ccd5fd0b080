import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Removes everything that is kept about a user: stores, also on servers, what lies beside them and was set aside, copies that killed
    /// processes have left, the evidence and its archives, the control file, and the backups that this program has made and that are
    /// where they were made.
    ///
    /// - Parameters:
    ///   - isDry: whether it is only said what would be removed.
    ///   - isForced: whether a process that has the user open is fenced out: its next operation fails, and makes nobody anew.
    ///   - elsewhere: what is kept by somebody above the rollout.
    /// - Returns: what was removed, and what is out of reach.
    /// - Throws: ``HabitStoreError/Code/notFound`` where nothing is kept; ``HabitStoreError/Code/busy`` while a process has the user
    ///   open; what could not be removed. Nobody is served from what is left then, and whoever tries again goes on where this ended.
    @discardableResult
    public func erase(
        _ user: String,
        isDry: Bool = false,
        isForced: Bool = false,
        elsewhere: ErasureElsewhere? = nil
    ) throws -> ErasureOutcome {
        let directory = try UserDirectory(root: root, user: user)
        var status = stat()
        if lstat(directory.path, &status) == 0 { try directory.requireOwn() }
        // A folder that names another user may be that user's.
        if directory.label == .another {
            throw HabitStoreError(
                .unsupported,
                "the file \"user\" in the folder names another user: remove it if it is damaged, or move the folder elsewhere",
                at: .init(path: directory.path)
            )
        }
        let beside = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let erasure = Erasure(
            directory: directory,
            engines: engines,
            options: options,
            elsewhere: elsewhere,
            others: ([flagFile].compactMap { $0 } + beside.sorted().map { root + "/" + $0 }).uniqued(),
            isForced: isForced
        )
        return try erasure.run(isDry: isDry)
    }
}

extension [String] {
    /// Each path once, in their order.
    fileprivate func uniqued() -> [String] {
        var seen: Set<String> = []
        return filter { seen.insert(URL(fileURLWithPath: $0).standardizedFileURL.path).inserted }
    }
}
