import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Makes a backup of a user: one consistent copy of the stores, with role, epoch and history, and of the evidence, while others read
    /// and write.
    ///
    /// - Parameters:
    ///   - path: where; there must be nothing yet. The folder is for its owner only, and gets its name when it is whole.
    ///   - progress: is told what is being copied.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; ``HabitStoreError/Code/unsupported`` where there is
    ///   something at the path, or a store is not in a file; what is wrong with the store that serves.
    @discardableResult
    public func backUp(
        _ user: String,
        to path: String,
        progress: (String) -> Void = { _ in }
    ) throws -> BackupOutcome {
        let directory = try known(user)
        let making = BackupMaking(
            directory: directory,
            engines: engines,
            options: options,
            schema: schema(of: directory)
        )
        return try making.run(to: path, progress: progress)
    }

    /// Puts a backup back: its stores are the user's from then on, in an epoch above all others, and a line of the evidence says so.
    /// What was proven before does not count.
    ///
    /// The stores that are there are set aside beside the new ones, and never deleted. A user who was killed stays killed, and is at
    /// `off`; any other is at the stage of the backup.
    ///
    /// - Parameters:
    ///   - user: whose backup it has to be; nil for anybody's.
    ///   - replaces: whether what the user has and the backup lacks may be given up.
    ///   - person: who restores it, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - progress: is told what is being done, and how far it is.
    /// - Throws: ``HabitStoreError/Code/staleStore`` where something would be given up and `replaces` is false;
    ///   ``HabitStoreError/Code/corrupt`` for a backup that is not whole, ``HabitStoreError/Code/newerVersion`` for one of a newer
    ///   program, ``HabitStoreError/Code/invalidValue`` for another user's; and what the system refuses.
    public func restore(
        _ backup: UserBackup,
        of user: String? = nil,
        replacing replaces: Bool = false,
        by person: String,
        because reason: String,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> RestorationOutcome {
        if let user, UserKey(user) != UserKey(backup.manifest.user) {
            throw HabitStoreError(
                .invalidValue,
                "the backup is another user's; a backup goes back to the user whose it is",
                at: .init(path: backup.path)
            )
        }
        guard backup.manifest.store == place.name?.text else {
            throw HabitStoreError(
                .invalidValue,
                "the backup is of \(Self.words(backup.manifest.store)), and this is \(Self.words(place.name?.text)); a backup goes back "
                    + "to the store whose it is",
                at: .init(path: backup.path)
            )
        }
        let directory = try directory(of: backup.manifest.user)
        try rest(backup.manifest.user)
        let restoring = Restoring(
            backup: backup,
            directory: directory,
            engines: engines,
            options: options,
            schema: schema,
            replaces: replaces,
            by: person,
            because: reason
        )
        return try restoring.run(progress: progress)
    }

    private static func words(_ store: String?) -> String {
        store.map { "the store \($0)" } ?? "the store without a name"
    }

    /// Closes the files of a user whom this process has open; the next operation opens what stands there then. An engine may open a file
    /// in the place of another one only once nobody of its process has that open.
    private func rest(_ user: String) throws {
        guard let files = handles.withLock({ $0[user]?.files }), !files.isClosed else { return }
        let end = ContinuousClock.now + .seconds(options.lockWaitSeconds)
        while !files.leases.isShut, files.leases.openUser != nil, !files.closeForAnother(isPatient: false) {
            guard ContinuousClock.now < end else {
                throw HabitStoreError(
                    .busy,
                    "the user is at work in this process; restore again when that is over",
                    at: .init(path: files.context.directory.path)
                )
            }
            Thread.sleep(forTimeInterval: 0.002)
        }
    }
}
