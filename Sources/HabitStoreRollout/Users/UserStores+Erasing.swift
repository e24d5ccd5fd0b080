import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Removes everything kept about a user in all stores under the root: the stores, also on servers, files next to them and files set aside, copies
    /// left by killed processes, the evidence and its archives, the control file, and the backups that this program made, if they are still where it
    /// made them.
    ///
    /// - Parameters:
    ///   - isDry: whether to report only what would be removed.
    ///   - isForced: whether to fence out a process that has the user open: its next operation fails, and does not create the user again.
    ///   - elsewhere: removes what layers above the rollout keep, for any of the stores.
    /// - Returns: what was removed, and what is out of reach.
    /// - Throws: ``HabitStoreError/Code/notFound`` if nothing is kept; ``HabitStoreError/Code/busy`` while a process has the user open; what could
    ///   not be removed. A store whose removal has begun serves no one, and a repeated call continues where this one ended.
    @discardableResult
    public func erase(
        _ user: String,
        isDry: Bool = false,
        isForced: Bool = false,
        elsewhere: ErasureElsewhere? = nil
    ) throws -> ErasureOutcome {
        let others = try StoreRoot.all(under: place.root).filter { $0 != place }
        let erasures = try ([place] + others).enumerated().map { number, place in
            try erasure(of: user, place, isForced, number == 0 ? elsewhere : nil)
        }
        // Before the first of them removes anything.
        if !isDry { for erasure in erasures { try erasure.requireClosed() } }
        var whole: ErasureOutcome?
        for erasure in erasures {
            guard let part = try erasure.run(isDry: isDry) else { continue }
            whole = whole.map { $0.joined(with: part) } ?? part
        }
        guard let whole else {
            throw HabitStoreError(
                .notFound,
                "there is no such user: nothing is kept about this user under the root",
                at: .init(path: place.root),
                detail: user,
                underlying: NoSuchUser(user: user, root: place.root)
            )
        }
        return whole
    }

    private func erasure(
        of user: String,
        _ place: StoreRoot,
        _ isForced: Bool,
        _ elsewhere: ErasureElsewhere?
    ) throws -> Erasure {
        let folder = UserDirectory.folder(root: place.path)
        let directory = try UserDirectory(folder: folder, user: user, store: place.name)
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
        let beside = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
        return Erasure(
            directory: directory,
            engines: engines.naming(place.name?.text),
            options: options,
            elsewhere: elsewhere,
            others: ([flagFile].compactMap { $0 } + beside.sorted().map { place.path + "/" + $0 }).uniqued(),
            isForced: isForced
        )
    }
}

extension [String] {
    /// The paths without duplicates, in order.
    fileprivate func uniqued() -> [String] {
        var seen: Set<String> = []
        return filter { seen.insert(URL(fileURLWithPath: $0).standardizedFileURL.path).inserted }
    }
}
